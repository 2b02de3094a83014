/* Answers with the interfaces of the machine: asks first how much room their list takes, as Java does, then for the list.
 *
 *   interfaces PORT
 */
#include "questions.h"
#include <net/if.h>
#include <sys/ioctl.h>

static int fd;

static void answer(unsigned number, char *text, size_t room) {
    struct ifconf list = {.ifc_len = 0};
    must(ioctl(fd, SIOCGIFCONF, &list) == 0, "SIOCGIFCONF");
    int length = list.ifc_len;
    list.ifc_buf = malloc((size_t)length);
    must(length > 0 && list.ifc_buf != NULL && ioctl(fd, SIOCGIFCONF, &list) == 0, "SIOCGIFCONF");
    int used = snprintf(text, room, "%u: %d, %d bytes:", number, length, list.ifc_len);
    for (size_t at = 0; at < (size_t)list.ifc_len / sizeof(struct ifreq) && at < 8; at++) {
        struct ifreq request = list.ifc_req[at];
        must(ioctl(fd, SIOCGIFMTU, &request) == 0, "SIOCGIFMTU");
        used += snprintf(text + used, room - (size_t)used, " %s %d", request.ifr_name, request.ifr_mtu);
    }
    free(list.ifc_buf);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
