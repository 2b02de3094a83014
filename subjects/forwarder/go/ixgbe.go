package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"
)

const (
	ringEntries = 1024 // a power of two
	// The shortest frame on a wire without its frame check sequence (IEEE 802.3, 4.4.2).
	frameBytesMin = 60
	timeout       = 10 * time.Second
)

// device is an 82599 with one receive and one transmit queue.
type device struct {
	registers []byte
	pool      *pool
	receive   ring
	transmit  ring
	// Within a received frame whose last buffer has not come yet.
	isInside bool
	// Transmit descriptors that are cleaned up at once, and the first that was not yet.
	cleanBatch uint32
	clean      uint32
}

// ring has descriptors of two words each, and the buffer of each.
type ring struct {
	words   []uint64
	address uint64
	buffers [ringEntries]uint32
	index   uint32
}

func (r *ring) allocate() error {
	memory, addresses, err := dmaAllocate(ringEntries * 16)
	if err != nil {
		return err
	}
	r.words = unsafe.Slice((*uint64)(unsafe.Pointer(&memory[0])), ringEntries*2)
	// Addresses that no memory has, so that a device that starts too early finds nothing to overwrite.
	for word := range r.words {
		r.words[word] = ^uint64(0)
	}
	r.address = addresses[0]
	return nil
}

func (d *device) set(offset uint32, bits uint32)   { d.write(offset, d.read(offset)|bits) }
func (d *device) clear(offset uint32, bits uint32) { d.write(offset, d.read(offset)&^bits) }

func (d *device) await(offset, mask, value uint32, step string) error {
	for until := time.Now().Add(timeout); d.read(offset)&mask != value; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			return fmt.Errorf("%s: no answer within %v", step, timeout)
		}
	}
	return nil
}

// openRegisters takes the device from its kernel driver, makes it bus master, and maps BAR 0.
func openRegisters(address string) ([]byte, error) {
	directory := "/sys/bus/pci/devices/" + address + "/"
	if err := os.WriteFile(directory+"driver/unbind", []byte(address), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	config, err := os.OpenFile(directory+"config", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer config.Close()
	// PCI 3.0, 6.2.2: bit 2 of the command register, at 4.
	var command [2]byte
	if _, err := config.ReadAt(command[:], 4); err != nil {
		return nil, err
	}
	binary.LittleEndian.PutUint16(command[:], binary.LittleEndian.Uint16(command[:])|1<<2)
	if _, err := config.WriteAt(command[:], 4); err != nil {
		return nil, err
	}
	resource, err := os.OpenFile(directory+"resource0", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer resource.Close()
	facts, err := resource.Stat()
	if err != nil {
		return nil, err
	}
	return syscall.Mmap(int(resource.Fd()), 0, int(facts.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

func openDevice(address string, pool *pool, cleanBatch uint32) (*device, error) {
	registers, err := openRegisters(address)
	if err != nil {
		return nil, err
	}
	d := &device{registers: registers, pool: pool, cleanBatch: cleanBatch}
	// 4.6.3: interrupts off, reset, interrupts off again, EEPROM and DMA ready
	d.write(regEimc, regEimcAllMask)
	d.write(regCtrl, regCtrlRst|regCtrlLrst)
	if err := d.await(regCtrl, regCtrlRst|regCtrlLrst, 0, "reset"); err != nil {
		return nil, err
	}
	time.Sleep(10 * time.Millisecond)
	d.write(regEimc, regEimcAllMask)
	if err := d.await(regEec, regEecArd, regEecArd, "EEPROM"); err != nil {
		return nil, err
	}
	if err := d.await(regRdrxctl, regRdrxctlDmaidone, regRdrxctlDmaidone, "DMA initialisation"); err != nil {
		return nil, err
	}
	// 4.6.4
	autoc := d.read(regAutoc) &^ (regAutocLmsMask | regAutocPmaPmd10gMask)
	d.write(regAutoc, autoc|regAutocLms10gSerial|regAutocRestartAn)
	if err := d.setUpReceive(); err != nil {
		return nil, err
	}
	if err := d.setUpTransmit(); err != nil {
		return nil, err
	}
	return d, d.await(regLinks, regLinksUp, regLinksUp, "link")
}

// 4.6.7
func (d *device) setUpReceive() error {
	d.clear(regRxctrl, regRxctrlRxen)
	d.write(regRxpbsize(0), regRxpbsize128kb)
	for n := uint32(1); n < 8; n++ {
		d.write(regRxpbsize(n), 0)
	}
	d.set(regHlreg0, regHlreg0Rxcrcstrp)
	d.set(regRdrxctl, regRdrxctlCrcstrip)
	d.set(regFctrl, regFctrlBam|regFctrlMpe|regFctrlUpe)
	split := d.read(regSrrctl(0)) &^ (regSrrctlDesctypeMask | regSrrctlBsizepacketMask)
	d.write(regSrrctl(0), split|regSrrctlDesctypeAdvanced|regSrrctlDropEn|bufferBytes/1024)
	if err := d.receive.allocate(); err != nil {
		return err
	}
	d.write(regRdbal(0), uint32(d.receive.address))
	d.write(regRdbah(0), uint32(d.receive.address>>32))
	d.write(regRdlen(0), ringEntries*16)
	d.write(regRdh(0), 0)
	d.write(regRdt(0), 0)
	d.set(regCtrlExt, regCtrlExtNsDis)
	d.clear(regDcaRxctrl(0), regDcaRxctrlReserved12)
	for index := uint32(0); index < ringEntries; index++ {
		buffer, ok := d.pool.take()
		if !ok {
			return errors.New("the pool has too few buffers")
		}
		d.receive.buffers[index] = buffer
		d.receive.set(index, d.pool.address(buffer), 0)
	}
	d.set(regRxctrl, regRxctrlRxen)
	d.set(regRxdctl(0), regRxdctlEnable)
	if err := d.await(regRxdctl(0), regRxdctlEnable, regRxdctlEnable, "receive queue"); err != nil {
		return err
	}
	// All descriptors but one: with all of them the ring would look empty.
	d.write(regRdt(0), ringEntries-1)
	return nil
}

// 4.6.8
func (d *device) setUpTransmit() error {
	d.set(regHlreg0, regHlreg0Txcrcen|regHlreg0Txpaden)
	d.write(regTxpbsize(0), regTxpbsize40kb)
	for n := uint32(1); n < 8; n++ {
		d.write(regTxpbsize(n), 0)
	}
	d.write(regDtxmxszrq, 0xffff)
	d.clear(regRttdcs, regRttdcsArbdis)
	if err := d.transmit.allocate(); err != nil {
		return err
	}
	d.write(regTdbal(0), uint32(d.transmit.address))
	d.write(regTdbah(0), uint32(d.transmit.address>>32))
	d.write(regTdlen(0), ringEntries*16)
	d.write(regTdh(0), 0)
	d.write(regTdt(0), 0)
	// Thresholds as DPDK has them.
	d.write(regTxdctl(0), 36<<regTxdctlPthreshShift|8<<regTxdctlHthreshShift|4<<regTxdctlWthreshShift)
	d.write(regDmatxctl, regDmatxctlTe)
	d.set(regTxdctl(0), regTxdctlEnable)
	return d.await(regTxdctl(0), regTxdctlEnable, regTxdctlEnable, "transmit queue")
}

// isWhole tells a frame in one buffer, of a length that a wire and a buffer can have. Others are dropped, buffer by buffer.
func (d *device) isWhole(status uint64, length uint32) bool {
	isEnd, wasInside := uint32(status)&regRxdEop != 0, d.isInside
	d.isInside = !isEnd
	return isEnd && !wasInside && length >= frameBytesMin && length <= bufferBytes
}

// rxBatch fills packets with received ones, and returns how many there were.
func (d *device) rxBatch(packets []packet) int {
	queue := &d.receive
	index, received := queue.index, 0
	for received < len(packets) {
		status := queue.status(index)
		if uint32(status)&regRxdDd == 0 {
			break
		}
		next, ok := d.pool.take()
		if !ok {
			break
		}
		length := uint32(status>>32) & 0xffff
		if d.isWhole(status, length) {
			packets[received] = packet{index: queue.buffers[index], length: length}
			queue.buffers[index] = next
			received++
		} else {
			d.pool.give(next)
		}
		queue.set(index, d.pool.address(queue.buffers[index]), 0)
		index = (index + 1) % ringEntries
	}
	if index != queue.index {
		queue.index = index
		// One behind: a tail that equals the head would say that the ring is empty.
		d.write(regRdt(0), (index-1)%ringEntries)
	}
	return received
}

// cleanUp frees what was sent, a batch at a time: only the last descriptor of one is read.
func (d *device) cleanUp() {
	queue := &d.transmit
	for (queue.index-d.clean)%ringEntries >= d.cleanBatch {
		last := (d.clean + d.cleanBatch - 1) % ringEntries
		if uint32(queue.status(last)>>32)&regTxdWbDd == 0 {
			return
		}
		for n := uint32(0); n < d.cleanBatch; n++ {
			d.pool.give(queue.buffers[(d.clean+n)%ringEntries])
		}
		d.clean = (last + 1) % ringEntries
	}
}

// txBatch sends packets from the front as far as there is room, and returns how many.
func (d *device) txBatch(packets []packet) int {
	d.cleanUp()
	queue := &d.transmit
	const command = regTxdEop | regTxdRs | regTxdIfcs | regTxdDext | regTxdDtypData
	for sent, packet := range packets {
		next := (queue.index + 1) % ringEntries
		if next == d.clean {
			if sent > 0 {
				d.write(regTdt(0), queue.index)
			}
			return sent
		}
		words := uint64(command|packet.length) | uint64(packet.length<<regTxdOlinfoPaylenShift)<<32
		queue.set(queue.index, d.pool.address(packet.index), words)
		queue.buffers[queue.index] = packet.index
		queue.index = next
	}
	d.write(regTdt(0), queue.index)
	return len(packets)
}
