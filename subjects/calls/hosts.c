/* Names and addresses of hosts by the older functions of the resolver, with all that their answers have.
 *
 *   hosts PORT
 */
#include "questions.h"
#include <netdb.h>

static char told[480];
static size_t used;

static void tell(const char *what) {
    used += (size_t)snprintf(told + used, sizeof told - used, "%s", what);
}

static void entry(const struct hostent *found, int error) {
    char text[80];
    if (!found) {
        snprintf(text, sizeof text, " none, error %d;", error);
        tell(text);
        return;
    }
    snprintf(text, sizeof text, " %s %d", found->h_name, found->h_addrtype);
    tell(text);
    for (char **name = found->h_aliases; *name; name++) tell(" alias "), tell(*name);
    for (char **address = found->h_addr_list; *address; address++) {
        tell(" ");
        tell(inet_ntop(found->h_addrtype, *address, text, sizeof text));
    }
    tell(";");
}

static void answer(unsigned number, char *text, size_t room) {
    struct in_addr here = {.s_addr = htonl(INADDR_LOOPBACK)};
    struct hostent result, *found = NULL;
    char buffer[2048];
    int error = 0;
    used = 0;
    told[0] = 0;
    switch (number % 7) {
    case 0: entry(gethostbyname("localhost"), h_errno); break;
    case 1: entry(gethostbyname2("::1", AF_INET6), h_errno); break;
    case 2: entry(gethostbyaddr(&here, sizeof here, AF_INET), h_errno); break;
    case 3:
        must(gethostbyname_r("127.0.0.1", &result, buffer, sizeof buffer, &found, &error) == 0, "gethostbyname_r");
        entry(found, error);
        break;
    case 4:
        must(gethostbyname2_r("127.1.2.3", AF_INET, &result, buffer, sizeof buffer, &found, &error) == 0, "gethostbyname2_r");
        entry(found, error);
        break;
    case 5:
        must(gethostbyaddr_r(&here, sizeof here, AF_INET, &result, buffer, sizeof buffer, &found, &error) == 0,
             "gethostbyaddr_r");
        entry(found, error);
        break;
    default: {
        int code = gethostbyaddr_r(&here, sizeof here, AF_INET, &result, buffer, 8, &found, &error);
        snprintf(buffer, sizeof buffer, "too little room: %d", code);
        tell(buffer);
        entry(found, error);
    }
    }
    snprintf(text, room, "%u:%s", number, told);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
