/* What the stand-in for the management library is made of: the file that says what it
 * answers, and the faults that it plays. Layouts follow the public header nvml.h. */
#ifndef LIBRARY_H
#define LIBRARY_H

enum {
    SUCCESS = 0,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    INSUFFICIENT_SIZE = 7,
    LOST = 15,
    VERSION_MISMATCH = 25,
};

struct device {
    int number;
    long calls;
};

/* Counts the call and plays its faults; returns the code that it is to end with. */
int begin(const char *function, struct device *device);
int begin_init(void);
struct device *device_at(unsigned number);

/* The value of a key, of one GPU before that of all GPUs; NULL where none stands. */
const char *value_of(const struct device *device, const char *key);
int number_of(const struct device *device, const char *key, long long *number);
/* As number_of, where a missing key means what it means in a healthy library. */
long long number_or(const struct device *device, const char *key, long long otherwise);
int text_of(const struct device *device, const char *key, char *text, unsigned length);

#endif
