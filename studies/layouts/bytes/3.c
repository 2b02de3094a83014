__attribute__((noinline)) unsigned count(const unsigned char *p, unsigned n) {
    unsigned s = 0;
    while (n--) s += *p++ > 100;
    return s;
}
