package main

import "fmt"

// object is a packet on Go's heap, which the garbage collector follows.
type object struct {
	packet
	bytes []byte
}

// allocation is what FORWARDER_ALLOCATE has a forwarder do with its heap, so that there is something to collect.
type allocation struct {
	kind    string
	objects []*object
}

// newAllocation returns nil for a forwarder that allocates nothing.
func newAllocation(kind string, batch int) (*allocation, error) {
	switch kind {
	case "", "none":
		return nil, nil
	case "batch", "packet", "kept":
		a := &allocation{kind: kind, objects: make([]*object, batch)}
		for n := range a.objects {
			a.objects[n] = new(object)
		}
		return a, nil
	}
	return nil, fmt.Errorf("FORWARDER_ALLOCATE: expected none, batch, packet or kept, found %s", kind)
}

// place puts received packets on the heap, and returns what it finds there.
func (a *allocation) place(pool *pool, received []packet) []packet {
	if a.kind == "batch" {
		var grown []packet
		for _, packet := range received {
			grown = append(grown, packet)
		}
		return grown
	}
	for n, packet := range received {
		if a.kind == "packet" {
			a.objects[n] = &object{packet: packet, bytes: pool.bytes(packet)}
		} else {
			a.objects[n].packet, a.objects[n].bytes = packet, pool.bytes(packet)
		}
	}
	for n := range received {
		received[n] = a.objects[n].packet
	}
	return received
}
