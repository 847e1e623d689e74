/* A stand-in for libnvidia-ml.so.1, for tests: two GPUs, of which the second is divided by MIG. It
 * has the functions that runtime/devices/native/nvml.ts calls, by their prototypes in nvml.h.
 * NVIDIA_FAKE_CRASH ends the process as a bad driver would; NVIDIA_FAKE_PID has memory on all. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { const char *name, *uuid; int mig; } Device;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } Process;

enum { SUCCESS = 0, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7 };

static Device devices[] = {
  {"NVIDIA H100 80GB HBM3", "GPU-11111111-aaaa-bbbb-cccc-000000000001", 0},
  {"NVIDIA A100-SXM4-40GB", "GPU-22222222-aaaa-bbbb-cccc-000000000002", 0},
};
static Device instances[] = {
  {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", "MIG-33333333-aaaa-bbbb-cccc-000000000003", 1},
  {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", "MIG-44444444-aaaa-bbbb-cccc-000000000004", 1},
};
static unsigned long long energy = 5000000;

int nvmlInit_v2(void) {
  if (getenv("NVIDIA_FAKE_CRASH")) abort();
  return SUCCESS;
}
int nvmlSystemGetDriverVersion(char *text, unsigned length) {
  snprintf(text, length, "550.54.14");
  return SUCCESS;
}
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **device) {
  if (index > 1) return INVALID;
  *device = &devices[index];
  return SUCCESS;
}
int nvmlDeviceGetMaxMigDeviceCount(Device *device, unsigned *count) {
  *count = device == &devices[1] ? 7 : 0;
  return SUCCESS;
}
int nvmlDeviceGetMigDeviceHandleByIndex(Device *device, unsigned index, Device **mig) {
  if (device != &devices[1] || index > 1) return NOT_FOUND;
  *mig = &instances[index];
  return SUCCESS;
}
int nvmlDeviceGetName(Device *device, char *text, unsigned length) {
  snprintf(text, length, "%s", device->name);
  return SUCCESS;
}
int nvmlDeviceGetUUID(Device *device, char *text, unsigned length) {
  snprintf(text, length, "%s", device->uuid);
  return SUCCESS;
}
int nvmlDeviceGetMemoryInfo(Device *device, Memory *memory) {
  memory->total = 80ull << 30;
  memory->used = device == &devices[0] ? 6ull << 30 : 1ull << 30;
  memory->free = memory->total - memory->used;
  return SUCCESS;
}
int nvmlDeviceGetUtilizationRates(Device *device, Utilization *rates) {
  if (device != &devices[0]) return NOT_SUPPORTED;
  rates->gpu = 42;
  rates->memory = 7;
  return SUCCESS;
}
int nvmlDeviceGetPowerUsage(Device *device, unsigned *milliwatts) {
  *milliwatts = device == &devices[0] ? 312500 : 60000;
  return SUCCESS;
}
int nvmlDeviceGetPowerManagementLimit(Device *device, unsigned *milliwatts) {
  *milliwatts = 700000;
  return SUCCESS;
}
int nvmlDeviceGetTotalEnergyConsumption(Device *device, unsigned long long *millijoules) {
  if (device != &devices[0]) return NOT_SUPPORTED;
  *millijoules = energy;
  energy += 300000;
  return SUCCESS;
}

/* As the third version: the memory of one process, and one whose memory is not known. */
static int running(unsigned *count, Process *told, unsigned long long used) {
  const char *pid = getenv("NVIDIA_FAKE_PID");
  if (*count < 2) return TOO_SMALL;
  told[0] = (Process){pid ? atoi(pid) : 1, used, ~0u, ~0u};
  told[1] = (Process){2, ~0ull, ~0u, ~0u};
  *count = 2;
  return SUCCESS;
}
int nvmlDeviceGetComputeRunningProcesses_v3(Device *device, unsigned *count, Process *told) {
  if (device == &devices[1]) return NOT_SUPPORTED;
  return running(count, told, device->mig ? 1ull << 20 : 1ull << 30);
}
/* Older drivers have the second version only. */
int nvmlDeviceGetGraphicsRunningProcesses_v2(Device *device, unsigned *count, Process *told) {
  if (device == &devices[1]) return NOT_SUPPORTED;
  return running(count, told, device->mig ? 0 : 3ull << 30);
}
