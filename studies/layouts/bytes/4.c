__attribute__((noinline)) unsigned hash(const unsigned char *p, unsigned n) {
    unsigned h = 5381;
    for (; n; n--) h = h * 33 + *p++;
    return h;
}
