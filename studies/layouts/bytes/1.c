#define BUFFER 4096
static unsigned char buffer[BUFFER];
unsigned sum(const unsigned char *p, unsigned n), find(const unsigned char *p, unsigned char c);
unsigned count(const unsigned char *p, unsigned n), hash(const unsigned char *p, unsigned n);
__attribute__((noinline)) unsigned sum(const unsigned char *p, unsigned n) {
    unsigned s = 0;
    for (unsigned i = 0; i < n; i++) {
        if (p[i] & 1) s += p[i]; else s ^= i;
    }
    return s;
}
