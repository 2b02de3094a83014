/* Makes one call with a buffer of so many bytes, and looks whether more than that was written or reported.
 *
 *   guarded CALL ROOM [FILE]
 *   guarded datagram-CALL ROOM
 *
 * Behind the buffer lie bytes that nothing may change. Exits with 0 when the call kept to its room, with 70 when it wrote
 * beyond it and with 71 when it returned more. Standard input is the descriptor that it uses, or a socket for datagrams. It
 * writes `kept` to standard input at the end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { GUARD = 8192 };

static int is(const char *call, const char *name) { return strcmp(call, name) == 0; }

int main(int count, char **arguments) {
    if (count < 3) return 2;
    const char *call = arguments[1];
    size_t room = strtoul(arguments[2], NULL, 10);
    unsigned char *buffer = malloc(room + GUARD);
    memset(buffer, 'u', room);
    memset(buffer + room, 'g', GUARD);
    struct iovec vector = {buffer, room};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    struct mmsghdr several = {.msg_hdr = message};
    long result = 0;
    int fd = 0;
    if (strncmp(call, "datagram-", 9) == 0) {
        call += 9;
        fd = socket(AF_INET, SOCK_DGRAM, 0);
    }
    size_t limit = room;
    if (is(call, "recv")) result = recv(fd, buffer, room, 0);
    else if (is(call, "recvfrom")) result = recvfrom(fd, buffer, room, 0, NULL, NULL);
    else if (is(call, "peek")) result = recvfrom(fd, buffer, room, MSG_PEEK, NULL, NULL);
    else if (is(call, "length")) result = recvfrom(fd, buffer, room, MSG_PEEK | MSG_TRUNC, NULL, NULL), limit = 65535;
    else if (is(call, "read")) result = read(fd, buffer, room);
    else if (is(call, "readv")) result = readv(fd, &vector, 1);
    else if (is(call, "recvmsg")) result = recvmsg(fd, &message, 0);
    else if (is(call, "recvmmsg")) {
        result = recvmmsg(fd, &several, 1, 0, NULL);
        limit = 1;
        if (several.msg_len > room) return 71;
    } else if (is(call, "control")) {
        struct msghdr ancillary = {.msg_iov = &vector, .msg_iovlen = 0, .msg_control = buffer, .msg_controllen = room};
        result = recvmsg(fd, &ancillary, 0);
        if (ancillary.msg_controllen > room) return 71;
    } else if (is(call, "send")) result = send(fd, buffer, room, 0);
    else if (is(call, "sendto")) result = sendto(fd, buffer, room, 0, NULL, 0);
    else if (is(call, "write")) result = write(0, buffer, room);
    else if (is(call, "sendmsg")) result = sendmsg(fd, &message, 0);
    else if (is(call, "sendfile")) {
        int file = open(arguments[3], O_RDONLY);
        result = sendfile(0, file, NULL, room);
    } else if (is(call, "getrandom")) result = getrandom(buffer, room, 0);
    else if (is(call, "getentropy")) result = getentropy(buffer, room);
    else if (is(call, "gethostname")) {
        result = gethostname((char *)buffer, room);
        if (result == 0 && strnlen((char *)buffer, room) == room) return 71;
    } else if (is(call, "getsockopt")) {
        socklen_t length = room;
        result = getsockopt(fd, SOL_SOCKET, SO_RCVBUF, buffer, &length);
        if (length > room) return 71;
    } else if (is(call, "ioctl")) result = ioctl(fd, FIONREAD, buffer);
    else if (is(call, "poll")) result = poll((struct pollfd *)buffer, room / sizeof(struct pollfd), 0);
    else if (is(call, "epoll")) result = epoll_wait(0, (struct epoll_event *)buffer, room / sizeof(struct epoll_event), 0);
    else if (is(call, "loads")) result = getloadavg((double *)buffer, room / sizeof(double)), limit = room / sizeof(double);
    else if (is(call, "socket")) {
        /* FILE is open under the number that a recorded socket may have. */
        int file = open(arguments[3], O_RDONLY);
        socket(AF_INET, SOCK_DGRAM, 0);
        result = read(file, buffer, room);
    } else return 2;
    if (result > 0 && (size_t)result > limit) return 71;
    for (size_t at = 0; at < GUARD; at++)
        if (buffer[room + at] != 'g') return 70;
    write(0, "kept", 4);
    return 0;
}
