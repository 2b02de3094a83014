// Forwarder forwards frames between two ports, both ways: forwarder ADDRESS ADDRESS. README.md one directory up describes the
// options, which are the same in every language. Go has no prefetch instruction, so that FORWARDER_PREFETCH does nothing.
package main

import (
	"fmt"
	"os"
	"strconv"
)

// noTouch is the touched byte of a forwarder that touches none.
const noTouch = -1

func number(name string, otherwise, low, high int) (int, error) {
	text := os.Getenv(name)
	if text == "" {
		return otherwise, nil
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < low || value > high {
		return 0, fmt.Errorf("%s: expected %d to %d, found %s", name, low, high, text)
	}
	return value, nil
}

func run() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("usage: %s ADDRESS ADDRESS", os.Args[0])
	}
	batch, err := number("FORWARDER_BATCH", 32, 1, 512)
	if err != nil {
		return err
	}
	cleanBatch, err := number("FORWARDER_CLEAN", 32, 1, 256)
	if err != nil {
		return err
	}
	buffers, err := number("FORWARDER_BUFFERS", 8192, 2112, 65536)
	if err != nil {
		return err
	}
	touch := noTouch
	if os.Getenv("FORWARDER_TOUCH") != "none" {
		if touch, err = number("FORWARDER_TOUCH", 1, 0, 59); err != nil {
			return err
		}
	}
	kind := os.Getenv("FORWARDER_POOL")
	if kind != "" && kind != "stack" && kind != "ring" {
		return fmt.Errorf("FORWARDER_POOL: expected stack or ring, found %s", kind)
	}
	allocation, err := newAllocation(os.Getenv("FORWARDER_ALLOCATE"), batch)
	if err != nil {
		return err
	}
	pool, err := newPool(buffers, kind)
	if err != nil {
		return err
	}
	first, err := openDevice(os.Args[1], pool, uint32(cleanBatch))
	if err != nil {
		return err
	}
	second, err := openDevice(os.Args[2], pool, uint32(cleanBatch))
	if err != nil {
		return err
	}
	packets := make([]packet, batch)
	for {
		forward(first, second, packets, touch, allocation)
		forward(second, first, packets, touch, allocation)
	}
}

func forward(from, to *device, packets []packet, touch int, allocation *allocation) {
	received := packets[:from.rxBatch(packets)]
	if len(received) == 0 {
		// Buffers that were sent are all that an empty pool can get.
		if from.pool.free == 0 {
			to.cleanUp()
		}
		return
	}
	if allocation != nil {
		received = allocation.place(from.pool, received)
	}
	if touch != noTouch {
		for _, packet := range received {
			from.pool.bytes(packet)[touch]++
		}
	}
	// What finds no room is dropped, as waiting would only delay what comes next.
	for _, packet := range received[to.txBatch(received):] {
		to.pool.give(packet.index)
	}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "forwarder:", err)
		os.Exit(1)
	}
}
