/* Gives its privileges up, as most servers that root starts, and then moves more bytes than a recorder holds at once.
 *
 *   dropped PORT
 */
#include "questions.h"
#include <grp.h>

#define NOBODY 65534
#define BYTES 60000
/* Both ways together: three times what fits. */
#define ROUNDS 200

static int pair[2];

static void answer(unsigned number, char *text, size_t room) {
    static char out[BYTES], in[BYTES];
    unsigned sum = 0;
    for (int round = 0; number == 5 && round < ROUNDS; round++) {
        memset(out, round, sizeof out);
        must(send(pair[0], out, sizeof out, 0) == BYTES && recv(pair[1], in, sizeof in, 0) == BYTES, "socketpair");
        sum = sum * 31 + (unsigned char)in[round];
    }
    snprintf(text, room, "%u: %u, user %d", number, sum, (int)getuid());
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int fd = open_socket(atoi(arguments[1]));
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0, "socketpair");
    must(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0, "setuid");
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
