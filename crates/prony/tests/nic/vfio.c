// A driver that makes requests of VFIO that are wrong, then random ones: vfio ADDRESS SEED NUMBER. It ends with 0 if each
// wrong request was answered as the kernel answers it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul

static void expect(const char *what, long result, int error) {
    if (error == 0 ? result < 0 : result != -1 || errno != error) {
        fprintf(stderr, "%s: %ld, %s; expected %s\n", what, result, strerror(errno), strerror(error));
        exit(1);
    }
}

static int container;

static long map(void *address, uint64_t iova, uint64_t size) {
    struct vfio_iommu_type1_dma_map map = {.argsz = sizeof(map), .flags = 3, .vaddr = (uintptr_t)address};
    map.iova = iova, map.size = size;
    return ioctl(container, VFIO_IOMMU_MAP_DMA, &map);
}

static long unmap(uint64_t iova, uint64_t size) {
    struct vfio_iommu_type1_dma_unmap unmap = {.argsz = sizeof(unmap), .iova = iova, .size = size};
    return ioctl(container, VFIO_IOMMU_UNMAP_DMA, &unmap);
}

// Steele, Lea and Flood 2014, SplitMix64.
static uint64_t state;
static uint64_t next(void) {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

int main(int argc, char *argv[]) {
    if (argc != 4)
        return 2;
    state = strtoull(argv[2], NULL, 10);
    container = open("/dev/vfio/vfio", O_RDWR);
    int group = open("/dev/vfio/0", O_RDWR), other = open("/dev/null", O_RDWR);
    expect("no other file is VFIO's", ioctl(other, VFIO_GET_API_VERSION), ENOTTY);
    expect("a descriptor that is not open", ioctl(999, VFIO_GET_API_VERSION), EBADF);
    expect("the version", ioctl(container, VFIO_GET_API_VERSION), 0);
    expect("a device without a container", ioctl(group, VFIO_GROUP_GET_DEVICE_FD, argv[1]), EINVAL);
    expect("a container that is none", ioctl(group, VFIO_GROUP_SET_CONTAINER, &other), EBADF);
    expect("a container", ioctl(group, VFIO_GROUP_SET_CONTAINER, &container), 0);
    expect("an unknown IOMMU", ioctl(container, VFIO_SET_IOMMU, 77), ENODEV);
    expect("an IOMMU", ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1_IOMMU), 0);
    expect("another device", ioctl(group, VFIO_GROUP_GET_DEVICE_FD, "0000:99:00.0"), ENODEV);
    int device = ioctl(group, VFIO_GROUP_GET_DEVICE_FD, argv[1]);
    expect("a device", device, 0);

    char *shared = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *private = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *constant = mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    expect("shared memory", map(shared, 0x100000, 16 * PAGE), 0);
    expect("an address that is taken", map(shared, 0x10f000, PAGE), EEXIST);
    expect("private memory", map(private, 0x200000, PAGE), EOPNOTSUPP);
    expect("memory that cannot be written", map(constant, 0x200000, PAGE), EOPNOTSUPP);
    expect("half a page", map(shared, 0x200000, PAGE / 2), EINVAL);
    expect("memory that is not there", map((void *)0x10000, 0x200000, PAGE), EFAULT);
    expect("more than there are addresses", map(shared, -PAGE, 2 * PAGE), EINVAL);
    expect("a structure that is not there", ioctl(container, VFIO_IOMMU_MAP_DMA, 8), EFAULT);
    expect("a part of a mapping", unmap(0x100000, PAGE), EINVAL);
    expect("a whole mapping", unmap(0x100000, 16 * PAGE), 0);
    long mapped = 0;
    while (mapped < 100000 && map(shared, (1ul << 40) + mapped * PAGE, PAGE) == 0)
        mapped++;
    expect("more mappings than a process may have", mapped < 100000 ? -1 : 0, ENOSPC);
    expect("all mappings", unmap(1ul << 40, mapped * PAGE), 0);

    struct { struct vfio_irq_set set; int fds[4]; } irqs = {.set = {.argsz = sizeof(irqs), .flags = 36, .index = 2, .count = 1}};
    irqs.fds[0] = open("/dev/zero", O_RDWR);
    expect("a file that is no eventfd", ioctl(device, VFIO_DEVICE_SET_IRQS, &irqs), EINVAL);
    irqs.fds[0] = eventfd(0, 0);
    expect("an eventfd", ioctl(device, VFIO_DEVICE_SET_IRQS, &irqs), 0);
    // Full: the device must not wait for a reader.
    uint64_t full = ~1ull;
    expect("a full eventfd", write(irqs.fds[0], &full, 8), 0);
    expect("a reset", ioctl(device, VFIO_DEVICE_RESET), 0);

    // What cannot be mapped follows the arguments, so that structures may end with it.
    char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page + PAGE, PAGE);
    int files[] = {container, group, device, other, irqs.fds[0], 12345, -1, dup(group)};
    for (long n = strtol(argv[3], NULL, 10); n > 0; n--) {
        uint64_t room = 4 * (next() % 64 + 1);
        char *argument = page + PAGE - room;
        uint32_t *words = (uint32_t *)argument;
        for (uint64_t i = 0; i < room / 4; i++) {
            uint64_t values[] = {0, next() % 64, next(), 0x1000 * (next() % 64), irqs.fds[0], container, -1, (uintptr_t)shared + PAGE * (next() % 64)};
            uint64_t value = values[next() % 8];
            words[i] = next() % 3 ? value : value >> 32;
        }
        words[0] = next() % 4 ? room : next();
        if (next() % 4 == 0 && room >= 32) {
            // One that is good in parts.
            uint64_t good[] = {3ul << 32 | 32, (uintptr_t)(next() % 4 ? shared : private) + PAGE * (next() % 64), PAGE * (next() % 512), PAGE * (next() % 8)};
            memcpy(argument, good, sizeof(good));
        }
        uint64_t arguments[] = {(uintptr_t)argument, (uintptr_t)argument, (uintptr_t)argument, 0, next(), (uintptr_t)page + PAGE - 4};
        ioctl(files[next() % 8], VFIO_GET_API_VERSION + next() % 20, arguments[next() % 6]);
        if (next() % 1000 == 0)
            ioctl(group, VFIO_GROUP_SET_CONTAINER, &container), ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1_IOMMU);
    }
    return 0;
}
