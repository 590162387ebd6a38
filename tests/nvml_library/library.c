/* The file of answers (NVML_LIBRARY_FILE), one `key=value` a line, the last one wins:
 *
 *     system.count=8            how many GPUs
 *     system.init=9             how nvmlInit ends
 *     gpu.name=...              of every GPU that has no line of its own
 *     gpu.3.name=...            of GPU 3
 *     gpu.3.lost_after=0        is lost after so many calls
 *     nvmlDeviceGetName.code=4  the call ends with this code, on every GPU
 *     gpu.3.nvmlDeviceGetName.code=4, .hang=1 or .crash=1
 *
 * A value that stands nowhere is not supported. */
#include "library.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LINES = 2000, MOST_DEVICES = 16, KEY_BYTES = 160 };

static char *keys[MOST_LINES];
static char *values[MOST_LINES];
static int lines;
static struct device devices[MOST_DEVICES];

static void load(void)
{
    char line[512];
    const char *path = getenv("NVML_LIBRARY_FILE");
    FILE *file = path ? fopen(path, "r") : NULL;

    lines = 0;
    while (file && lines < MOST_LINES && fgets(line, sizeof line, file)) {
        char *equal = strchr(line, '=');
        if (line[0] == '#' || !equal)
            continue;
        *equal = 0;
        equal[1 + strcspn(equal + 1, "\n")] = 0;
        keys[lines] = strdup(line);
        values[lines++] = strdup(equal + 1);
    }
    if (file)
        fclose(file);
}

static const char *find(const char *key)
{
    for (int line = lines - 1; line >= 0; line--)
        if (strcmp(keys[line], key) == 0)
            return values[line];
    return NULL;
}

const char *value_of(const struct device *device, const char *key)
{
    char name[KEY_BYTES];
    const char *found;

    if (!device)
        snprintf(name, sizeof name, "system.%s", key);
    else
        snprintf(name, sizeof name, "gpu.%d.%s", device->number, key);
    found = find(name);
    if (found || !device)
        return found;
    snprintf(name, sizeof name, "gpu.%s", key);
    return find(name);
}

int number_of(const struct device *device, const char *key, long long *number)
{
    const char *found = value_of(device, key);

    if (!found)
        return NOT_SUPPORTED;
    *number = strtoll(found, NULL, 0);
    return SUCCESS;
}

long long number_or(const struct device *device, const char *key, long long otherwise)
{
    long long number = otherwise;

    number_of(device, key, &number);
    return number;
}

int text_of(const struct device *device, const char *key, char *text, unsigned length)
{
    const char *found = value_of(device, key);

    if (!found)
        return NOT_SUPPORTED;
    if (strlen(found) >= length)
        return INSUFFICIENT_SIZE;
    strcpy(text, found);
    return SUCCESS;
}

static long long fault(const char *function, const struct device *device,
                       const char *kind)
{
    char name[KEY_BYTES];
    const char *found;

    snprintf(name, sizeof name, "%s.%s", function, kind);
    found = device ? value_of(device, name) : NULL;
    if (!found)
        found = find(name);
    return found ? strtoll(found, NULL, 0) : 0;
}

int begin(const char *function, struct device *device)
{
    if (fault(function, device, "hang"))
        for (;;)
            pause();
    if (fault(function, device, "crash"))
        raise(SIGSEGV);
    if (fault(function, device, "prints"))
        puts("a line that no probe wrote"), fflush(stdout);
    if (device) {
        long long after = number_or(device, "lost_after", -1);
        if (after >= 0 && device->calls++ >= after)
            return LOST;
    }
    return (int)fault(function, device, "code");
}

int begin_init(void)
{
    load();
    for (int number = 0; number < MOST_DEVICES; number++)
        devices[number] = (struct device){number, 0};
    return (int)number_or(NULL, "init", SUCCESS);
}

struct device *device_at(unsigned number)
{
    return number < number_or(NULL, "count", 0) && number < MOST_DEVICES
               ? &devices[number]
               : NULL;
}
