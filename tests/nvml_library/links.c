/* Links of a GPU, pairs of GPUs, and numbered fields. */
#include "library.h"

#include <stdio.h>

typedef unsigned long long u64;

/* `nvlink.KEY`, or `nvlink.LINK.KEY` for one link. */
static int of_link(const char *function, struct device *device, unsigned link,
                   const char *key, long long *found)
{
    char name[64];
    int code = begin(function, device);
    if (code)
        return code;
    long long links = number_or(device, "nvlinks", -1);
    if (links < 0)
        return NOT_SUPPORTED;
    if (link >= links)
        return INVALID_ARGUMENT;
    snprintf(name, sizeof name, "nvlink.%u.%s", link, key);
    if (number_of(device, name, found) == SUCCESS)
        return SUCCESS;
    snprintf(name, sizeof name, "nvlink.%s", key);
    return number_of(device, name, found);
}

#define OF_LINK(function, key)                                                         \
    int function(struct device *device, unsigned link, unsigned *out)                  \
    {                                                                                  \
        long long found = 0;                                                           \
        int code = of_link(__func__, device, link, key, &found);                       \
        *out = (unsigned)found;                                                        \
        return code;                                                                   \
    }

OF_LINK(nvmlDeviceGetNvLinkState, "active")
OF_LINK(nvmlDeviceGetNvLinkVersion, "version")
OF_LINK(nvmlDeviceGetNvLinkRemoteDeviceType, "remote_type")

int nvmlDeviceGetNvLinkErrorCounter(struct device *device, unsigned link,
                                    unsigned counter, u64 *out)
{
    static const char *const keys[] = {"replays", "recoveries", "crc_flit", "crc_data"};
    long long found = 0;
    if (counter > 3)
        return INVALID_ARGUMENT;
    int code = of_link(__func__, device, link, keys[counter], &found);
    *out = (u64)found;
    return code;
}

static int of_pair(const char *function, struct device *one, struct device *other,
                   const char *kind, unsigned *out)
{
    char key[32];
    long long found = 0;
    int code = begin(function, one);
    if (code)
        return code;
    snprintf(key, sizeof key, "%s.%d", kind, other->number);
    code = number_of(one, key, &found);
    if (code)
        code = number_of(one, kind, &found);
    *out = (unsigned)found;
    return code;
}

int nvmlDeviceGetTopologyCommonAncestor(struct device *one, struct device *other,
                                        unsigned *out)
{
    return of_pair(__func__, one, other, "ancestor", out);
}

int nvmlDeviceGetP2PStatus(struct device *one, struct device *other, unsigned kind,
                           unsigned *out)
{
    static const char *const keys[] = {"peer_read", "peer_write", "peer_nvlink"};
    return kind > 2 ? INVALID_ARGUMENT : of_pair(__func__, one, other, keys[kind], out);
}

struct bandwidth_mode {
    unsigned version, is_best;
    unsigned char mode;
};

int nvmlDeviceGetNvlinkBwMode(struct device *device, struct bandwidth_mode *out)
{
    long long found = 0;
    int code = begin(__func__, device);
    code = code ? code : number_of(device, "nvlink_bandwidth_mode", &found);
    out->mode = (unsigned char)found;
    return code;
}

struct field {
    unsigned id, scope;
    long long timestamp, latency;
    unsigned type;
    int code;
    union {
        double real;
        unsigned small;
        u64 large;
    } value;
};

enum { TYPE_UNSIGNED = 1, TYPE_LARGE = 3 };

/* `field.ID`, or `field.ID.SCOPE` for one link; `field.ID.code` is an error. */
int nvmlDeviceGetFieldValues(struct device *device, int count, struct field *fields)
{
    int code = begin(__func__, device);
    for (int index = 0; !code && index < count; index++) {
        struct field *field = fields + index;
        char key[64];
        long long found = 0;
        snprintf(key, sizeof key, "field.%u.code", field->id);
        field->code = (int)number_or(device, key, SUCCESS);
        snprintf(key, sizeof key, "field.%u.%u", field->id, field->scope);
        int missing = number_of(device, key, &found);
        snprintf(key, sizeof key, "field.%u", field->id);
        if (missing)
            missing = number_of(device, key, &found);
        if (!field->code)
            field->code = missing;
        snprintf(key, sizeof key, "field.%u.type", field->id);
        field->type = (unsigned)number_or(device, key, TYPE_LARGE);
        if (field->type == TYPE_UNSIGNED)
            field->value.small = (unsigned)found;
        else
            field->value.large = (u64)found;
    }
    return code;
}
