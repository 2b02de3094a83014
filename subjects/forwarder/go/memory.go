package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

const (
	hugePageBytes = 2 << 20
	bufferBytes   = 2048
	// Entries of /proc/self/pagemap (Documentation/admin-guide/mm/pagemap.rst): bits 0 to 54 are the number of the frame.
	frameMask = 1<<55 - 1
	pageBytes = 4096
)

var hugePageFiles atomic.Uint32

// dmaAllocate maps huge pages, and returns them with the bus address of each.
func dmaAllocate(bytes int) ([]byte, []uint64, error) {
	pages := (bytes + hugePageBytes - 1) / hugePageBytes
	path := fmt.Sprintf("/mnt/huge/forwarder-%d-%d", os.Getpid(), hugePageFiles.Add(1))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("no hugetlbfs: %w", err)
	}
	defer file.Close()
	defer os.Remove(path)
	if err := file.Truncate(int64(pages * hugePageBytes)); err != nil {
		return nil, nil, fmt.Errorf("allocate huge pages: %w", err)
	}
	// MAP_POPULATE: a page has an address only when it is there.
	memory, err := syscall.Mmap(int(file.Fd()), 0, pages*hugePageBytes, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED|syscall.MAP_HUGETLB|syscall.MAP_POPULATE)
	if err != nil {
		return nil, nil, fmt.Errorf("map huge pages: %w", err)
	}
	pagemap, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil, nil, err
	}
	defer pagemap.Close()
	addresses := make([]uint64, pages)
	for page := range addresses {
		var entry [8]byte
		at := uintptr(unsafe.Pointer(&memory[page*hugePageBytes]))
		if _, err := pagemap.ReadAt(entry[:], int64(at/pageBytes*8)); err != nil {
			return nil, nil, err
		}
		frame := binary.LittleEndian.Uint64(entry[:]) & frameMask
		if frame == 0 {
			return nil, nil, fmt.Errorf("no physical addresses: run as root")
		}
		addresses[page] = frame * pageBytes
	}
	return memory, addresses, nil
}

// A packet is a buffer and the length of the frame in it. Buffers are outside of Go's heap, so that the garbage collector
// never looks at them, and a packet is a value of eight bytes, so that batches hold no pointers either.
type packet struct {
	index  uint32
	length uint32
}

// A pool has the buffers of both devices.
type pool struct {
	memory    []byte
	addresses []uint64
	kind      string
	// Indices of free buffers: all before `free` as a stack, `free` of them from `head` on as a ring.
	indices []uint32
	free    int
	head    int
}

func newPool(buffers int, kind string) (*pool, error) {
	memory, addresses, err := dmaAllocate(buffers * bufferBytes)
	if err != nil {
		return nil, err
	}
	p := &pool{memory: memory, addresses: addresses, kind: kind, indices: make([]uint32, buffers)}
	for index := buffers; index > 0; index-- {
		p.give(uint32(index - 1))
	}
	return p, nil
}

func (p *pool) take() (uint32, bool) {
	if p.free == 0 {
		return 0, false
	}
	p.free--
	if p.kind != "ring" {
		return p.indices[p.free], true
	}
	index := p.indices[p.head]
	if p.head++; p.head == len(p.indices) {
		p.head = 0
	}
	return index, true
}

func (p *pool) give(index uint32) {
	end := p.free
	if p.kind == "ring" {
		if end += p.head; end >= len(p.indices) {
			end -= len(p.indices)
		}
	}
	p.indices[end] = index
	p.free++
}

func (p *pool) address(index uint32) uint64 {
	at := uint64(index) * bufferBytes
	return p.addresses[at/hugePageBytes] + at%hugePageBytes
}

func (p *pool) bytes(of packet) []byte {
	at := int(of.index) * bufferBytes
	return p.memory[at : at+int(of.length)]
}
