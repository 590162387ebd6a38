/* Calls that fill structures; their layouts are those of nvml.h. */
#include "library.h"

#include <stdio.h>
#include <string.h>

typedef unsigned long long u64;

struct pci_info {
    char legacy_bus_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

static int put_pci(const struct device *device, const char *key, struct pci_info *out)
{
    memset(out, 0, sizeof *out);
    int code = text_of(device, key, out->bus_id, sizeof out->bus_id);
    out->device_id = (unsigned)number_or(device, "pci_device_id", 0);
    out->subsystem_id = (unsigned)number_or(device, "pci_subsystem_id", 0);
    return code;
}

int nvmlDeviceGetPciInfo_v3(struct device *device, struct pci_info *out)
{
    int code = begin(__func__, device);
    return code ? code : put_pci(device, "pci_address", out);
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct device *device, unsigned link,
                                        struct pci_info *out)
{
    (void)link;
    int code = begin(__func__, device);
    return code ? code : put_pci(device, "nvlink_remote_address", out);
}

/* Two to five numbers of consecutive keys, each through a pointer of its own. */
static int put_each(const char *function, struct device *device,
                    const char *const *keys, unsigned **out)
{
    int code = begin(function, device);
    for (; !code && *keys; keys++, out++) {
        long long found = 0;
        code = number_of(device, *keys, &found);
        **out = (unsigned)found;
    }
    return code;
}

#define PAIR(function, first, second)                                                  \
    int function(struct device *device, unsigned *one, unsigned *other)                \
    {                                                                                  \
        const char *const keys[] = {first, second, NULL};                              \
        return put_each(__func__, device, keys, (unsigned *[]){one, other});           \
    }

PAIR(nvmlDeviceGetCudaComputeCapability, "compute_major", "compute_minor")
PAIR(nvmlDeviceGetEccMode, "ecc", "ecc_pending")
PAIR(nvmlDeviceGetMigMode, "mig", "mig_pending")
PAIR(nvmlDeviceGetAutoBoostedClocksEnabled, "auto_boost", "auto_boost_default")
PAIR(nvmlDeviceGetPowerManagementLimitConstraints, "power_least_milliwatts",
     "power_most_milliwatts")

int nvmlDeviceGetRemappedRows(struct device *device, unsigned *corrected,
                              unsigned *uncorrected, unsigned *pending,
                              unsigned *failed)
{
    const char *const keys[] = {"remapped_corrected", "remapped_uncorrected",
                                "remap_pending", "remap_failed", NULL};
    return put_each(__func__, device, keys,
                    (unsigned *[]){corrected, uncorrected, pending, failed});
}

int nvmlDeviceGetRowRemapperHistogram(struct device *device, unsigned out[5])
{
    const char *const keys[] = {"banks_maximal", "banks_high", "banks_partial",
                                "banks_low", "banks_none", NULL};
    return put_each(__func__, device, keys,
                    (unsigned *[]){out, out + 1, out + 2, out + 3, out + 4});
}

struct memory {
    unsigned version;
    u64 total, reserved, free, used;
};

int nvmlDeviceGetMemoryInfo_v2(struct device *device, struct memory *out)
{
    int code = begin(__func__, device);
    if (code)
        return code;
    if (out->version != (sizeof *out | 2u << 24))
        return VERSION_MISMATCH;
    out->total = (u64)number_or(device, "memory_bytes", 0);
    out->used = (u64)number_or(device, "memory_used_bytes", 0);
    out->reserved = (u64)number_or(device, "memory_reserved_bytes", 0);
    out->free = out->total - out->used - out->reserved;
    return out->total ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetBAR1MemoryInfo(struct device *device, u64 out[3])
{
    int code = begin(__func__, device);
    out[0] = out[1] = (u64)number_or(device, "bar1_bytes", 0);
    return code;
}

struct sram {
    unsigned version;
    u64 aggregate_parity, aggregate_double, aggregate_corrected, parity, double_bit,
        corrected, buckets[5];
    unsigned threshold_exceeded;
};

int nvmlDeviceGetSramEccErrorStatus(struct device *device, struct sram *out)
{
    int code = begin(__func__, device);
    if (code)
        return code;
    if (out->version != (sizeof *out | 1u << 24))
        return VERSION_MISMATCH;
    out->parity = (u64)number_or(device, "sram_parity", 0);
    out->double_bit = (u64)number_or(device, "sram_double", 0);
    out->aggregate_parity = (u64)number_or(device, "sram_aggregate_parity", 0);
    out->aggregate_double = (u64)number_or(device, "sram_aggregate_double", 0);
    out->threshold_exceeded = (unsigned)number_or(device, "sram_exceeded", 0);
    return SUCCESS;
}

struct margin {
    unsigned version;
    int celsius;
};

int nvmlDeviceGetMarginTemperature(struct device *device, struct margin *out)
{
    long long found = 0;
    int code = begin(__func__, device);
    code = code ? code : number_of(device, "margin_celsius", &found);
    out->celsius = (int)found;
    return code;
}

int nvmlDeviceGetUnrepairableMemoryFlag_v1(struct device *device, unsigned out[2])
{
    long long found = 0;
    int code = begin(__func__, device);
    code = code ? code : number_of(device, "unrepairable", &found);
    out[1] = (unsigned)found;
    return code;
}

struct fabric {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned health_mask;
    unsigned char health_summary; /* from version 3 on */
};

int nvmlDeviceGetGpuFabricInfoV(struct device *device, struct fabric *out)
{
    int code = begin(__func__, device);
    if (code)
        return code;
    long long newest = number_or(device, "fabric_version", 3);
    if ((long long)(out->version >> 24) > newest)
        return VERSION_MISMATCH;
    const char *cluster = value_of(device, "fabric_cluster");
    for (int index = 0; cluster && index < 16; index++)
        sscanf(cluster + 2 * index, "%2hhx", &out->cluster[index]);
    out->status = (int)number_or(device, "fabric_status", 0);
    out->clique = (unsigned)number_or(device, "fabric_clique", 0);
    out->state = (unsigned char)number_or(device, "fabric_state", 0);
    out->health_mask = (unsigned)number_or(device, "fabric_health_mask", 0);
    if (out->version >> 24 >= 3)
        out->health_summary =
            (unsigned char)number_or(device, "fabric_health_summary", 0);
    return SUCCESS;
}

struct process {
    unsigned pid;
    u64 used_bytes;
    unsigned gpu_instance, compute_instance;
};

static int put_processes(const char *function, struct device *device, const char *key,
                         unsigned *count, struct process *out)
{
    int code = begin(function, device);
    if (code)
        return code;
    unsigned found = (unsigned)number_or(device, key, 0);
    unsigned room = out ? *count : 0;
    *count = found;
    if (room < found)
        return INSUFFICIENT_SIZE;
    for (unsigned index = 0; index < found; index++)
        out[index] = (struct process){1000 + index, 1u << 30, 0, 0};
    return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(struct device *device, unsigned *count,
                                            struct process *out)
{
    return put_processes(__func__, device, "compute_processes", count, out);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(struct device *device, unsigned *count,
                                             struct process *out)
{
    return put_processes(__func__, device, "graphics_processes", count, out);
}

int nvmlDeviceGetCpuAffinity(struct device *device, unsigned words, u64 *out)
{
    int code = begin(__func__, device);
    if (code)
        return code;
    long long first = number_or(device, "cpu_first", 0);
    long long last = number_or(device, "cpu_last", -1);
    memset(out, 0, words * sizeof *out);
    for (long long cpu = first; cpu <= last && cpu < 64ll * words; cpu++)
        out[cpu / 64] |= 1ull << cpu % 64;
    return SUCCESS;
}

int nvmlSystemGetConfComputeState(unsigned out[3])
{
    long long found = 0;
    int code = begin(__func__, NULL);
    code = code ? code : number_of(NULL, "confidential_computing", &found);
    out[1] = (unsigned)found;
    return code;
}
