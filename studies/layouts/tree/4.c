__attribute__((noinline)) unsigned next(unsigned *state) { return *state = *state * 1664525u + 1013904223u; }
