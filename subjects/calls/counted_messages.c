/* Takes its questions by `recvmmsg`, and answers each by `sendmmsg` with two datagrams: one of 3 and 4 bytes in two buffers, one of 5.
 *
 *   counted_messages PORT
 *
 * Before each wait it looks once whether anything is there, which fails. It has room for 6 bytes of a question and lets the kernel cut the rest.
 */
#include "questions.h"
#include <errno.h>
#include <sys/uio.h>

enum { MESSAGES = 4, ROOM = 6 };

static char texts[MESSAGES][ROOM + 1];
static struct sockaddr_in peers[MESSAGES];

static int receive(int fd, int flags) {
    struct mmsghdr messages[MESSAGES];
    struct iovec rooms[MESSAGES];
    memset(messages, 0, sizeof messages);
    for (int at = 0; at < MESSAGES; at++) {
        rooms[at] = (struct iovec){texts[at], ROOM};
        messages[at].msg_hdr.msg_iov = &rooms[at];
        messages[at].msg_hdr.msg_iovlen = 1;
        messages[at].msg_hdr.msg_name = &peers[at];
        messages[at].msg_hdr.msg_namelen = sizeof peers[at];
    }
    int came = recvmmsg(fd, messages, MESSAGES, flags, NULL);
    for (int at = 0; at < came; at++) texts[at][messages[at].msg_len] = 0;
    return came;
}

static void answer(int fd, struct sockaddr_in *peer) {
    struct iovec first[2] = {{"one", 3}, {"more", 4}}, second = {"again", 5};
    struct mmsghdr messages[2];
    memset(messages, 0, sizeof messages);
    messages[0].msg_hdr.msg_iov = first;
    messages[0].msg_hdr.msg_iovlen = 2;
    messages[1].msg_hdr.msg_iov = &second;
    messages[1].msg_hdr.msg_iovlen = 1;
    for (int at = 0; at < 2; at++) {
        messages[at].msg_hdr.msg_name = peer;
        messages[at].msg_hdr.msg_namelen = sizeof *peer;
    }
    must(sendmmsg(fd, messages, 2, 0) == 2, "sendmmsg");
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int fd = open_socket(atoi(arguments[1]));
    for (;;) {
        int came = receive(fd, MSG_DONTWAIT);
        if (came < 0) {
            must(errno == EAGAIN, "recvmmsg");
            came = receive(fd, MSG_WAITFORONE);
            must(came > 0, "recvmmsg");
        }
        for (int at = 0; at < came; at++) {
            if (strcmp(texts[at], "quit") == 0) return 0;
            answer(fd, &peers[at]);
        }
    }
}
