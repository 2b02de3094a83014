//go:build !helpers

package main

import (
	"sync/atomic"
	"unsafe"
)

// status loads the second word of a descriptor, which the device writes last.
func (r *ring) status(index uint32) uint64 {
	return atomic.LoadUint64(&r.words[index*2+1])
}

// set writes a descriptor. The device does not look before the tail is written, which is an atomic store.
func (r *ring) set(index uint32, address, command uint64) {
	r.words[index*2] = address
	r.words[index*2+1] = command
}

func (d *device) register(offset uint32) *uint32 {
	return (*uint32)(unsafe.Pointer(&d.registers[offset : offset+4][0]))
}

func (d *device) read(offset uint32) uint32         { return atomic.LoadUint32(d.register(offset)) }
func (d *device) write(offset uint32, value uint32) { atomic.StoreUint32(d.register(offset), value) }
