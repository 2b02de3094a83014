//go:build helpers

package main

// #cgo CFLAGS: -O2 -I${SRCDIR}/../helpers
// #include "helpers.h"
import "C"

import "unsafe"

func (r *ring) start() *C.uint64_t { return (*C.uint64_t)(unsafe.Pointer(&r.words[0])) }

func (r *ring) status(index uint32) uint64 {
	return uint64(C.helper_status(r.start(), C.uint32_t(index)))
}

func (r *ring) set(index uint32, address, command uint64) {
	C.helper_set(r.start(), C.uint32_t(index), C.uint64_t(address), C.uint64_t(command))
}

func (d *device) start() *C.uint32_t { return (*C.uint32_t)(unsafe.Pointer(&d.registers[0])) }

func (d *device) read(offset uint32) uint32 {
	return uint32(C.helper_read(d.start(), C.uint32_t(offset)))
}

func (d *device) write(offset uint32, value uint32) {
	C.helper_write(d.start(), C.uint32_t(offset), C.uint32_t(value))
}
