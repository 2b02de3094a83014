// A worker in Go: measures its own work and gives prony the values.
//
//	go build worker.go && prony bench './worker 20000' './worker 40000'
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

var sink uint64

// What is measured: put your own work here.
func work(steps int) {
	x := uint64(88172645463325252)
	for step := 0; step < steps; step++ {
		x ^= x >> 12
		x ^= x << 25
		x ^= x >> 27
	}
	sink = x
}

// Measures `loops` loops and writes the time of one; returns the time of all, in seconds.
func measure(out *os.File, steps, loops int, warmup bool) float64 {
	begin := time.Now()
	for loop := 0; loop < loops; loop++ {
		work(steps)
	}
	wall := time.Since(begin).Seconds()
	fmt.Fprintf(out, `{"metric": "wall", "value": %g, "unit": "s", "loops": %d, "warmup": %t}`+"\n",
		wall/float64(loops), loops, warmup)
	return wall
}

func asked(name string, otherwise float64) float64 {
	if value, err := strconv.ParseFloat(os.Getenv(name), 64); err == nil {
		return value
	}
	return otherwise
}

func main() {
	out := os.NewFile(uintptr(asked("PRONY_FD", 1)), "prony")
	steps := 20000
	if len(os.Args) > 1 {
		steps, _ = strconv.Atoi(os.Args[1])
	}
	loops := int(asked("PRONY_LOOPS", 0))
	if loops == 0 {
		// The first time nobody knows yet how many loops make a value long enough: double until it is.
		for loops = 1; measure(out, steps, loops, true) < asked("PRONY_MIN_TIME", 0.1); loops *= 2 {
		}
	} else {
		for left := asked("PRONY_WARMUPS", 1); left > 0; left-- {
			measure(out, steps, loops, true)
		}
	}
	for left := asked("PRONY_VALUES", 1); left > 0; left-- {
		measure(out, steps, loops, false)
	}
}
