/* Short loops over few bytes: where they start in a line of the cache is a good part of what they cost. */
int main(void) {
    unsigned s = 0;
    for (int i = 0; i < BUFFER; i++) buffer[i] = (unsigned char)((i * 37 + 11) >> 2);
    buffer[40] = 255;
    for (int round = 0; round < ROUNDS; round++) {
        s += sum(buffer, 24 + (s & 1)) + find(buffer, 255) + count(buffer, 24) + hash(buffer, 24);
    }
    return s == 12345;
}
