/* Sends itself datagrams of 60,000 bytes, and prints how much came. The recording holds all of it.
 *
 *   large TIMES
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
    static char bytes[60000];
    int ends[2], times = argc > 1 ? atoi(argv[1]) : 0;
    long long received = 0;
    if (times == 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0)
        return 2;
    for (int time = 0; time < times; time++) {
        if (send(ends[0], bytes, sizeof bytes, 0) != sizeof bytes)
            return 1;
        received += recv(ends[1], bytes, sizeof bytes, 0);
    }
    printf("%lld bytes\n", received);
    return 0;
}
