/* An addon for Node.js, which cannot map memory or tell where it lies by itself. Nothing of the driver is in here: what is
 * mapped is an ArrayBuffer, which stays for as long as the program runs. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAPI_VERSION 8
#include <node_api.h>

#define PATH_BYTES 256

/* For the system call that just failed. */
static napi_value fail(napi_env env, const char *path) {
	char text[PATH_BYTES + 128];
	strncpy(text, path, PATH_BYTES - 1);
	text[PATH_BYTES - 1] = '\0';
	strcat(text, ": ");
	strncat(text, strerror(errno), 100);
	napi_throw_error(env, NULL, text);
	return NULL;
}

/* map(path, bytes, isNew): maps a file; a new one is of huge pages, all of them there, and has no name afterwards. */
static napi_value map(napi_env env, napi_callback_info info) {
	napi_value arguments[3];
	size_t number = 3, length;
	char path[PATH_BYTES];
	int64_t bytes;
	bool is_new;
	if (napi_get_cb_info(env, info, &number, arguments, NULL, NULL) != napi_ok || number != 3 ||
	    napi_get_value_string_utf8(env, arguments[0], path, sizeof(path), &length) != napi_ok ||
	    napi_get_value_int64(env, arguments[1], &bytes) != napi_ok || bytes <= 0 ||
	    napi_get_value_bool(env, arguments[2], &is_new) != napi_ok) {
		napi_throw_type_error(env, NULL, "expected map(path, bytes, isNew)");
		return NULL;
	}
	int file = open(path, O_RDWR | O_CLOEXEC | (is_new ? O_CREAT | O_EXCL : 0), 0600);
	if (file < 0)
		return fail(env, path);
	if (is_new && (unlink(path) != 0 || ftruncate(file, bytes) != 0)) {
		close(file);
		return fail(env, path);
	}
	int flags = MAP_SHARED | (is_new ? MAP_HUGETLB | MAP_POPULATE : 0);
	void *start = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, flags, file, 0);
	close(file);
	if (start == MAP_FAILED)
		return fail(env, path);
	napi_value buffer;
	if (napi_create_external_arraybuffer(env, start, (size_t)bytes, NULL, NULL, &buffer) != napi_ok) {
		munmap(start, (size_t)bytes);
		napi_throw_error(env, NULL, "this Node.js has no external array buffers");
		return NULL;
	}
	return buffer;
}

/* addressOf(buffer): address in this process, below 2^53. */
static napi_value address_of(napi_env env, napi_callback_info info) {
	napi_value argument, address;
	size_t number = 1, bytes;
	void *start;
	if (napi_get_cb_info(env, info, &number, &argument, NULL, NULL) != napi_ok || number != 1 ||
	    napi_get_arraybuffer_info(env, argument, &start, &bytes) != napi_ok ||
	    napi_create_int64(env, (int64_t)(uintptr_t)start, &address) != napi_ok) {
		napi_throw_type_error(env, NULL, "expected addressOf(buffer)");
		return NULL;
	}
	return address;
}

NAPI_MODULE_INIT() {
	napi_property_descriptor functions[] = {
		{"map", NULL, map, NULL, NULL, NULL, napi_enumerable, NULL},
		{"addressOf", NULL, address_of, NULL, NULL, NULL, napi_enumerable, NULL},
	};
	napi_define_properties(env, exports, sizeof(functions) / sizeof(*functions), functions);
	return exports;
}
