/* Calls of one value, and those of the system. */
#include "library.h"

#include <string.h>

int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    int code = begin_init();
    return code ? code : begin(__func__, 0);
}

int nvmlShutdown(void)
{
    return SUCCESS;
}

const char *nvmlErrorString(int code)
{
    (void)code;
    return "an error of the stand-in";
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    int code = begin(__func__, 0);
    *count = (unsigned)number_or(0, "count", 0);
    return code;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned number, struct device **handle)
{
    struct device *device = device_at(number);
    if (!device)
        return INVALID_ARGUMENT;
    *handle = device;
    return begin(__func__, device);
}

static int number(const char *function, struct device *device, const char *key,
                  long long *found)
{
    int code = begin(function, device);
    return code ? code : number_of(device, key, found);
}

#define SYSTEM_TEXT(function, key)                                                     \
    int function(char *text, unsigned length)                                          \
    {                                                                                  \
        int code = begin(__func__, 0);                                                 \
        return code ? code : text_of(0, key, text, length);                            \
    }
#define SYSTEM_NUMBER(function, type, key)                                             \
    int function(type *out)                                                            \
    {                                                                                  \
        long long found = 0;                                                           \
        int code = number(__func__, 0, key, &found);                                   \
        *out = (type)found;                                                            \
        return code;                                                                   \
    }
#define TEXT(function, key)                                                            \
    int function(struct device *device, char *text, unsigned length)                   \
    {                                                                                  \
        int code = begin(__func__, device);                                            \
        return code ? code : text_of(device, key, text, length);                       \
    }
#define NUMBER(function, type, key)                                                    \
    int function(struct device *device, type *out)                                     \
    {                                                                                  \
        long long found = 0;                                                           \
        int code = number(__func__, device, key, &found);                              \
        *out = (type)found;                                                            \
        return code;                                                                   \
    }
/* keys: one for each value of the selector, in its order. */
#define SELECTED(function, ...)                                                        \
    int function(struct device *device, unsigned selector, unsigned *out)              \
    {                                                                                  \
        static const char *const keys[] = {__VA_ARGS__};                               \
        long long found = 0;                                                           \
        if (selector >= sizeof keys / sizeof keys[0])                                  \
            return INVALID_ARGUMENT;                                                   \
        int code = number(__func__, device, keys[selector], &found);                   \
        *out = (unsigned)found;                                                        \
        return code;                                                                   \
    }

SYSTEM_TEXT(nvmlSystemGetDriverVersion, "driver_version")
SYSTEM_TEXT(nvmlSystemGetNVMLVersion, "library_version")
SYSTEM_NUMBER(nvmlSystemGetCudaDriverVersion_v2, int, "cuda_version")
SYSTEM_NUMBER(nvmlSystemGetNvlinkBwMode, unsigned, "nvlink_bandwidth_mode")

TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetVbiosVersion, "vbios_version")
TEXT(nvmlDeviceGetBoardPartNumber, "board_part_number")

NUMBER(nvmlDeviceGetBrand, unsigned, "brand")
NUMBER(nvmlDeviceGetMinorNumber, unsigned, "minor_number")
NUMBER(nvmlDeviceGetModuleId, unsigned, "module_id")
NUMBER(nvmlDeviceGetNumaNodeId, unsigned, "numa_node")
NUMBER(nvmlDeviceGetPersistenceMode, unsigned, "persistence")
NUMBER(nvmlDeviceGetComputeMode, unsigned, "compute_mode")
NUMBER(nvmlDeviceGetPerformanceState, unsigned, "performance_state")
#ifdef OLDER
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, "clock_reasons")
#else
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, "clock_reasons")
#endif
NUMBER(nvmlDeviceGetPowerUsage, unsigned, "power_milliwatts")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned, "power_limit_milliwatts")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, "power_default_milliwatts")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, "pcie_generation")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, "pcie_generation_maximum")
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, unsigned, "pcie_generation_of_gpu")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned, "pcie_width")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, unsigned, "pcie_width_maximum")
NUMBER(nvmlDeviceGetPcieReplayCounter, unsigned, "pcie_replays")
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, unsigned, "retirement_pending")

SELECTED(nvmlDeviceGetClockInfo, "graphics_clock", "sm_clock", "memory_clock")
SELECTED(nvmlDeviceGetMaxClockInfo, "graphics_clock_maximum", "sm_clock_maximum",
         "memory_clock_maximum")
SELECTED(nvmlDeviceGetApplicationsClock, "graphics_clock", "application_clock")
SELECTED(nvmlDeviceGetDefaultApplicationsClock, "graphics_clock",
         "application_clock_default")
SELECTED(nvmlDeviceGetTemperature, "temperature")
SELECTED(nvmlDeviceGetTemperatureThreshold, "shutdown_celsius", "slowdown_celsius",
         "memory_celsius_maximum")

int nvmlDeviceGetGspFirmwareVersion(struct device *device, char *text)
{
    int code = begin(__func__, device);
    return code ? code : text_of(device, "gsp_firmware_version", text, 64);
}

int nvmlDeviceGetTotalEccErrors(struct device *device, unsigned type, unsigned counter,
                                unsigned long long *out)
{
    static const char *const keys[2][2] = {
        {"ecc_corrected_volatile", "ecc_corrected_aggregate"},
        {"ecc_uncorrected_volatile", "ecc_uncorrected_aggregate"},
    };
    long long found = 0;
    if (type > 1 || counter > 1)
        return INVALID_ARGUMENT;
    int code = number(__func__, device, keys[type][counter], &found);
    *out = (unsigned long long)found;
    return code;
}

int nvmlDeviceValidateInforom(struct device *device)
{
    return begin(__func__, device);
}

int nvmlDeviceGetRetiredPages(struct device *device, unsigned cause, unsigned *count,
                              unsigned long long *pages)
{
    static const char *const keys[] = {"retired_single", "retired_double"};
    long long found = 0;
    int code = number(__func__, device, keys[cause != 0], &found);
    if (code)
        return code;
    unsigned room = pages ? *count : 0;
    *count = (unsigned)found;
    if (room < *count)
        return INSUFFICIENT_SIZE;
    if (pages)
        memset(pages, 0, *count * sizeof *pages);
    return SUCCESS;
}
