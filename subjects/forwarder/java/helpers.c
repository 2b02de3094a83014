/* The functions of helpers.h for Java. */
#include <jni.h>

#include "helpers.h"

JNIEXPORT jlong JNICALL Java_Helpers_status(JNIEnv *environment, jclass class, jlong ring, jint index) {
	(void)environment, (void)class;
	return (jlong)helper_status((const volatile uint64_t *)ring, (uint32_t)index);
}

JNIEXPORT void JNICALL Java_Helpers_set(JNIEnv *environment, jclass class, jlong ring, jint index, jlong address, jlong command) {
	(void)environment, (void)class;
	helper_set((volatile uint64_t *)ring, (uint32_t)index, (uint64_t)address, (uint64_t)command);
}

JNIEXPORT jint JNICALL Java_Helpers_read(JNIEnv *environment, jclass class, jlong registers, jint offset) {
	(void)environment, (void)class;
	return (jint)helper_read((const volatile uint32_t *)registers, (uint32_t)offset);
}

JNIEXPORT void JNICALL Java_Helpers_write(JNIEnv *environment, jclass class, jlong registers, jint offset, jint value) {
	(void)environment, (void)class;
	helper_write((volatile uint32_t *)registers, (uint32_t)offset, (uint32_t)value);
}
