__attribute__((noinline)) unsigned find(const unsigned char *p, unsigned char c) {
    unsigned i = 0;
    while (p[i] != c) i++;
    return i;
}
