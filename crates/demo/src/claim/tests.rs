use super::*;
use crate::{HEAD_BYTES, Record, WAIT_FOREVER};

fn record(op: Op, ret: i64, fd: i32, aux: u32, parts: &[(PartKind, &[u8])]) -> Record {
    let head = Head { size: HEAD_BYTES as u32, op: op as u16, thread: 0, order: 0, time: 0, ret, fd, aux };
    parts.iter().fold(Record::new(head), |record, (kind, bytes)| record.with_part(*kind, bytes))
}

fn check(op: Op, ret: i64, fd: i32, aux: u32, parts: &[(PartKind, &[u8])]) -> Checked {
    check_result(record(op, ret, fd, aux, parts).as_bytes())
}

fn refused(op: Op, ret: i64, fd: i32, aux: u32, parts: &[(PartKind, &[u8])]) -> String {
    check(op, ret, fd, aux, parts).expect_err(op.name()).to_string()
}

fn ready(pairs: &[(i32, u32)]) -> Vec<u8> {
    pairs.iter().flat_map(|(fd, events)| [fd.to_le_bytes(), events.to_le_bytes()].concat()).collect()
}

fn control(length: u64, level: u32, kind: u32, content: &[u8]) -> Vec<u8> {
    [&length.to_le_bytes()[..], &level.to_le_bytes(), &kind.to_le_bytes(), content].concat()
}

use PartKind::{Addr, Control, In, Message, Out, Path, Ready, Value};

#[test]
fn an_input_returns_no_more_than_was_requested() {
    for op in [Op::Recv, Op::Recvfrom, Op::Recvmsg, Op::Read, Op::Readv, Op::Pread, Op::Preadv] {
        assert_eq!(check(op, 5, 3, 1400, &[(In, b"hello")]), Ok(()));
        assert_eq!(check(op, 0, 3, 1400, &[]), Ok(()));
        assert_eq!(check(op, -11, 3, 1400, &[]), Ok(()));
        refused(op, 5497, 3, 1400, &[(In, b"hello")]);
        refused(op, 5, 3, 1400, &[(In, b"hello world")]);
        refused(op, 12, 3, 1400, &[(In, b"hello")]);
        refused(op, -4096, 3, 1400, &[]);
        refused(op, i64::MIN, 3, 1400, &[]);
    }
    let error = refused(Op::Recvfrom, 5497, 3, 1400, &[(In, b"hello")]);
    assert_eq!(error, "return value of `recvfrom`: expected an error or at most 1400, found 5497");
}

#[test]
fn the_true_length_of_a_truncated_datagram_may_exceed_the_room() {
    assert_eq!(check(Op::Recvfrom, 5497, 3, 4, &[(In, b"four")]), Ok(()));
    assert_eq!(check(Op::Recv, 5497, 3, 0, &[]), Ok(()));
    let flags = 0x20_u32.to_le_bytes();
    assert_eq!(check(Op::Recvmsg, 5497, 3, 4, &[(In, b"four"), (Value, &flags)]), Ok(()));
    refused(Op::Recvmsg, 5497, 3, 4, &[(In, b"four"), (Value, &[0; 4])]);
    refused(Op::Recvmsg, 5497, 3, 4, &[(In, b"four")]);
    // A read has no flags.
    refused(Op::Read, 5497, 3, 4, &[(In, b"four")]);
}

#[test]
fn each_of_several_messages_has_the_bytes_that_it_states() {
    let head = |length: u32, flags: u32| [length.to_le_bytes(), flags.to_le_bytes()].concat();
    let (five, more, empty) = (head(5, 0), head(9, 0x20), head(0, 0));
    assert_eq!(check(Op::Recvmmsg, 2, 3, 4, &[(Message, &five), (In, b"hello"), (Message, &empty)]), Ok(()));
    assert_eq!(check(Op::Recvmmsg, 1, 3, 4, &[(Message, &more), (In, b"hello")]), Ok(()));
    refused(Op::Recvmmsg, 5, 3, 4, &[]);
    refused(Op::Recvmmsg, 2, 3, 4, &[(Message, &five), (In, b"hello")]);
    refused(Op::Recvmmsg, 1, 3, 4, &[(Message, &five)]);
    refused(Op::Recvmmsg, 1, 3, 4, &[(Message, &[0; 4])]);
    refused(Op::Recvmmsg, 2, 3, 4, &[(Message, &head(9, 0)), (In, b"hello"), (Message, &empty)]);
    assert_eq!(check(Op::Sendmmsg, 1, 3, 4, &[(Message, &five), (Out, b"hello")]), Ok(()));
    refused(Op::Sendmmsg, 1, 3, 4, &[(Message, &more), (Out, b"hello")]);
    refused(Op::Sendmmsg, 2000, 3, u32::MAX, &[]);
}

#[test]
fn an_output_takes_no_more_than_was_offered() {
    for op in [Op::Send, Op::Sendto, Op::Sendmsg, Op::Write, Op::Writev, Op::Pwrite, Op::Sendfile, Op::LogWrite] {
        assert_eq!(check(op, 5, 3, 9, &[(Out, b"hello")]), Ok(()));
        refused(op, 5497, 3, 5, &[(Out, b"hello")]);
        refused(op, 4, 3, 5, &[(Out, b"hello")]);
    }
    assert_eq!(check(Op::Sendfile, 5, 3, 9, &[]), Ok(()));
}

#[test]
fn random_bytes_are_those_that_were_requested() {
    assert_eq!(check(Op::Getrandom, 4, -1, 8, &[(In, b"four")]), Ok(()));
    refused(Op::Getrandom, 4096, -1, 8, &[(In, &[0; 4096])]);
    refused(Op::Getrandom, 8, -1, 8, &[(In, b"four")]);
    assert_eq!(check(Op::Arc4random, 0, -1, 4, &[(In, b"four")]), Ok(()));
    refused(Op::Arc4random, 0, -1, 4, &[]);
    refused(Op::Getentropy, 4, -1, 4, &[(In, b"four")]);
}

#[test]
fn descriptors_are_new_and_none_of_the_recorders_own() {
    for op in [Op::Socket, Op::Accept, Op::Dup, Op::Eventfd, Op::EpollCreate, Op::OpenFile, Op::Snapshot, Op::PidfdOpen]
    {
        assert_eq!(check(op, 0, -1, 0, &[]), Ok(()), "{}", op.name());
        assert_eq!(check(op, -24, -1, 0, &[]), Ok(()));
        refused(op, 1 << 20, -1, 0, &[]);
        for own in 1000..=1006 {
            refused(op, own, -1, 0, &[]);
        }
    }
    refused(Op::Signalfd, 4, 3, 0, &[]);
    let pair = |one: i32, other: i32| [one.to_le_bytes(), other.to_le_bytes()].concat();
    for op in [Op::Pipe, Op::Socketpair] {
        assert_eq!(check(op, 0, -1, 0, &[(Value, &pair(3, 4))]), Ok(()));
        for (one, other) in [(3, 3), (3, -1), (1002, 4), (3, i32::MAX)] {
            refused(op, 0, -1, 0, &[(Value, &pair(one, other))]);
        }
        refused(op, 0, -1, 0, &[]);
        refused(op, 1, -1, 0, &[(Value, &pair(3, 4))]);
    }
}

#[test]
fn ready_lists_have_as_many_descriptors_as_were_returned() {
    for op in [Op::Select, Op::Poll] {
        assert_eq!(check(op, 2, -1, 5, &[(Ready, &ready(&[(3, 1), (4, 2)]))]), Ok(()));
        assert_eq!(check(op, 0, -1, WAIT_FOREVER, &[]), Ok(()));
        refused(op, 1, -1, 5, &[(Ready, &ready(&[(3, 1), (4, 1)]))]);
        refused(op, 1, -1, 5, &[(Ready, &[0; 7])]);
        refused(op, 4000, -1, 5, &[]);
    }
    refused(Op::Select, 1, -1, 5, &[(Ready, &ready(&[(1024, 1)]))]);
    refused(Op::Select, 1, -1, 5, &[(Ready, &ready(&[(3, 8)]))]);
    refused(Op::Poll, 1, -1, 5, &[(Ready, &ready(&[(3, 0x10000)]))]);
    assert_eq!(check(Op::EpollWait, 1, 3, 5, &[(Ready, &ready(&[(4, 1)]))]), Ok(()));
    refused(Op::EpollWait, 2, 3, 5, &[(Ready, &ready(&[(4, 1)]))]);
    refused(Op::EpollWait, 1, 3, 5, &[(Ready, &ready(&[(4, 1)])), (Value, &[0; 7])]);
}

#[test]
fn ancillary_data_lies_within_its_record_and_brings_valid_descriptors() {
    let message = |control: &[u8]| check(Op::Recvmsg, 0, 3, 9, &[(Control, control), (Value, &[0; 4])]);
    assert_eq!(message(&control(20, 1, 1, &5_i32.to_le_bytes())), Ok(()));
    assert_eq!(message(&control(20, 1, 1, &[5, 0, 0, 0, 0, 0, 0, 0])), Ok(()));
    // The same as i386 has it.
    assert_eq!(message(&[16, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0]), Ok(()));
    for wrong in [
        control(20, 1, 1, &1000_i32.to_le_bytes()),
        control(20, 1, 1, &(-1_i32).to_le_bytes()),
        control(4096, 1, 1, &5_i32.to_le_bytes()),
        control(u64::MAX, 1, 1, &5_i32.to_le_bytes()),
        control(0, 1, 1, &5_i32.to_le_bytes()),
        control(15, 1, 1, &5_i32.to_le_bytes()),
        vec![0; 3],
    ] {
        message(&wrong).expect_err("it reaches beyond the record, or names no descriptor");
    }
}

#[test]
fn structures_have_the_size_that_c_gives_them() {
    for (op, size) in [(Op::Fstat, 144), (Op::Sysinfo, 112), (Op::TimerfdGettime, 32), (Op::SemGetvalue, 4)] {
        assert_eq!(check(op, 0, 3, 0, &[(Value, &vec![0; size])]), Ok(()));
        assert_eq!(check(op, -9, 3, 0, &[]), Ok(()));
        refused(op, 0, 3, 0, &[(Value, &vec![0; size + 1])]);
        refused(op, 0, 3, 0, &[]);
    }
    assert_eq!(check(Op::TimerSettime, 0, -1, 0, &[]), Ok(()));
    refused(Op::Getrusage, 0, -1, 0, &[(Value, &[0; 4096])]);
    refused(Op::Nanosleep, -4, -1, 5, &[(Value, &[0; 17])]);
    refused(Op::Sigtimedwait, 65, -1, 5, &[]);
    refused(Op::Sigtimedwait, 10, -1, 5, &[(Value, &[0; 127])]);
}

#[test]
fn requests_write_what_their_numbers_say() {
    const FIONREAD: u32 = 0x541b;
    assert_eq!(check(Op::Ioctl, 0, 3, FIONREAD, &[(Value, &7_i32.to_le_bytes())]), Ok(()));
    refused(Op::Ioctl, 0, 3, FIONREAD, &[(Value, &(-7_i32).to_le_bytes())]);
    refused(Op::Ioctl, 0, 3, FIONREAD, &[(Value, &[0; 400])]);
    assert_eq!(check(Op::Ioctl, 0, 3, SIOCGIFCONF, &[(Value, &[0; 80])]), Ok(()));
    refused(Op::Ioctl, 0, 3, SIOCGIFCONF, &[(Value, &[0; 81])]);
    // `SIOCATMARK` of an earlier recorder, which stored more than the request writes.
    assert_eq!(check(Op::Ioctl, 0, 3, 0x8905, &[(Value, &[0; 40])]), Ok(()));
}

#[test]
fn names_are_text_that_ends() {
    assert_eq!(check(Op::Gethostname, 0, -1, 0, &[(Value, b"host\0")]), Ok(()));
    refused(Op::Gethostname, 0, -1, 0, &[(Value, b"host")]);
    refused(Op::Gethostname, 0, -1, 0, &[(Value, &[0; 300])]);
    assert_eq!(check(Op::Uname, 0, -1, 0, &[(Value, &[0; 390])]), Ok(()));
    refused(Op::Uname, 0, -1, 0, &[(Value, &[b'x'; 390])]);
    refused(Op::Uname, 0, -1, 0, &[(Value, &[0; 389])]);
    refused(Op::IfIndextoname, 0, -1, 1, &[(Value, &[b'x'; 16])]);
    refused(Op::Getnameinfo, 0, -1, 0, &[(Path, &[b'x'; 4096]), (Path, b"80")]);
}

#[test]
fn lists_have_whole_entries_with_their_addresses() {
    let parts: [(PartKind, &[u8]); 5] =
        [(Path, b"host"), (Path, b"80"), (Path, b""), (Value, &[0; 16]), (Addr, &[0; 16])];
    assert_eq!(check(Op::Getaddrinfo, 0, -1, 0, &parts), Ok(()));
    assert_eq!(check(Op::Getaddrinfo, -2, -1, 0, &parts[..2]), Ok(()));
    refused(Op::Getaddrinfo, 0, -1, 0, &parts[..3]);
    refused(Op::Getaddrinfo, 0, -1, 0, &parts[..4]);
    refused(Op::Getaddrinfo, 0, -1, 0, &[(Value, &[0; 4]), (Addr, &[0; 16])]);
    refused(Op::Getaddrinfo, 0, -1, 0, &[(Value, &[0; 16]), (Addr, &[0; 129])]);
    let interface: [(PartKind, &[u8]); 5] = [(Value, &[0; 16]), (Path, b"lo"), (Addr, &[]), (Addr, &[]), (Addr, &[])];
    assert_eq!(check(Op::Getifaddrs, 0, -1, 0, &interface), Ok(()));
    refused(Op::Getifaddrs, 0, -1, 0, &interface[..4]);
    refused(Op::Getifaddrs, 0, -1, 0, &[(Value, &[0; 3]), (Path, b"lo"), (Addr, &[]), (Addr, &[]), (Addr, &[])]);
    assert_eq!(check(Op::Gethostbyname, 0, -1, 0, &[(Path, b"host"), (Addr, &[0; 4])]), Ok(()));
    refused(Op::Gethostbyname, 0, -1, 0, &[(Path, b"host"), (Addr, &[0; 5])]);
    refused(Op::Gethostbyname, 0, -1, 0, &[(Path, b"host"), (Addr, &[0; 16]), (Addr, &[0; 4])]);
}

#[test]
fn processes_and_signals_have_numbers_and_statuses_that_a_kernel_gives() {
    assert_eq!(check(Op::Fork, 4711, -1, 1, &[]), Ok(()));
    // Zero is what the child gets.
    refused(Op::Fork, 0, -1, 1, &[]);
    refused(Op::Fork, 4711, -1, 1 << 15, &[]);
    refused(Op::Fork, 4711, -1, 1, &[(Value, &1000_i32.to_le_bytes())]);
    refused(Op::Getpid, 1 << 23, -1, 0, &[]);
    let ended = |status: u32| [&status.to_le_bytes()[..], &[0; 148]].concat();
    for status in [0, 0xff00, 9, 0x80 | 6, 0x137f, 0xffff] {
        assert_eq!(check(Op::Wait, 4711, -1, 0, &[(Value, &ended(status))]), Ok(()), "{status:#x}");
    }
    for status in [0x1_0000, 0x41, 0xffff_ffff, 0x7f] {
        refused(Op::Wait, 4711, -1, 0, &[(Value, &ended(status))]);
        refused(Op::System, status.into(), -1, 0, &[]);
    }
    refused(Op::Wait, 4711, -1, 0, &[]);
    assert_eq!(check(Op::Signal, 1, -1, 15, &[(Value, &[0; 128])]), Ok(()));
    for signal in [0, 65, u32::MAX] {
        refused(Op::Signal, 1, -1, signal, &[(Value, &[0; 128])]);
    }
    refused(Op::Signal, 1, -1, 15, &[]);
    refused(Op::Spawn, 0, -1, 0, &[(Value, &(-1_i32).to_le_bytes())]);
    refused(Op::Exec, 0, -1, 1, &[(Value, &ready(&[(5, 3)]))]);
    refused(Op::Exec, 0, -1, 1, &[(Value, &ready(&[(1001, 1)]))]);
    refused(Op::Exec, 0, -1, 1, &[(Value, &ready(&[(7, 0x40)]))]);
    assert_eq!(check(Op::ProgramStart, 0, -1, 0, &[(Value, &ready(&[(0, 0x40), (7, 0), (8, 1)]))]), Ok(()));
    refused(Op::ProgramStart, 0, -1, 0, &[(Value, &ready(&[(1001, 0x40)]))]);
    refused(Op::ProgramStart, 0, -1, 0, &[(Value, &ready(&[(7, 0x41)]))]);
    refused(Op::ThreadCreate, 0, -1, 0x1_0000, &[]);
    refused(Op::Sysconf, 1 << 40, -1, 84, &[]);
    refused(Op::Getcpu, 1 << 20, -1, 0, &[]);
    refused(Op::Rdrand, 2, -1, 8, &[(Value, &[0; 8])]);
    refused(Op::MutexLock, 1 << 40, -1, 0, &[]);
}

#[test]
fn every_call_has_a_bound_that_some_result_keeps_and_an_absurd_one_does_not() {
    for &op in Op::ALL {
        let absurd = check(op, i64::MIN, -1, 0, &[]);
        let free = matches!(op.bound(), Bound::Reading | Bound::Order);
        assert_eq!(absurd.is_ok(), free, "{}", op.name());
    }
}
