/* Swift has no way to prefetch. The importer compiles this into the code that calls it. */
static inline void prefetch(const void *line) {
	__builtin_prefetch(line, 1);
}
