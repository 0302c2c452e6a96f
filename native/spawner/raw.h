/*
 * System calls without the C library: each returns the kernel's own answer, which is -errno on failure.
 *
 * A child that shares our memory until execve must leave no trace in it. The C library's wrappers write `errno`, and those of
 * setresuid and its like keep the threads of the process in step: both are ours, not the child's. Reading is harmless.
 *
 * Where raw_birth is not known for an architecture, RAW_BIRTHS is 0: children are then forked with a memory of their own,
 * so that the C library's own `syscall` will do.
 */
#ifndef SFSD_SPAWNER_RAW_H
#define SFSD_SPAWNER_RAW_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define RAW_BIRTHS 1

static inline long raw_call(long number, long first, long second, long third, long fourth, long fifth)
{
	long result;
	register long in_r10 __asm__("r10") = fourth;
	register long in_r8 __asm__("r8") = fifth;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(first), "S"(second), "d"(third), "r"(in_r10), "r"(in_r8)
			 : "rcx", "r11", "memory");
	return result;
}

/*
 * A clone or clone3 that gives the child a stack. The child cannot return from here, for what it would return to is on our stack:
 * it calls `run`, which must not return either. Both functions' operands outlive the call in registers that the kernel preserves.
 */
static inline long raw_birth(long number, long first, long second, void (*run)(void *), void *argument)
{
	long result;
	register long in_r10 __asm__("r10") = 0;
	register long in_r8 __asm__("r8") = 0;
	register void (*in_r12)(void *) __asm__("r12") = run;
	register void *in_r13 __asm__("r13") = argument;
	__asm__ volatile("syscall\n\t"
			 "testq %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "movq %%r13, %%rdi\n\t"
			 "call *%%r12\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(result)
			 : "a"(number), "D"(first), "S"(second), "d"(0L), "r"(in_r10), "r"(in_r8), "r"(in_r12), "r"(in_r13)
			 : "rcx", "r11", "memory", "cc");
	return result;
}

#elif defined(__aarch64__)
#define RAW_BIRTHS 1

static inline long raw_call(long number, long first, long second, long third, long fourth, long fifth)
{
	register long in_x8 __asm__("x8") = number;
	register long in_x0 __asm__("x0") = first;
	register long in_x1 __asm__("x1") = second;
	register long in_x2 __asm__("x2") = third;
	register long in_x3 __asm__("x3") = fourth;
	register long in_x4 __asm__("x4") = fifth;
	__asm__ volatile("svc #0"
			 : "+r"(in_x0)
			 : "r"(in_x8), "r"(in_x1), "r"(in_x2), "r"(in_x3), "r"(in_x4)
			 : "memory");
	return in_x0;
}

/* As above. */
static inline long raw_birth(long number, long first, long second, void (*run)(void *), void *argument)
{
	register long in_x8 __asm__("x8") = number;
	register long in_x0 __asm__("x0") = first;
	register long in_x1 __asm__("x1") = second;
	register long in_x2 __asm__("x2") = 0;
	register long in_x3 __asm__("x3") = 0;
	register long in_x4 __asm__("x4") = 0;
	register void (*in_x9)(void *) __asm__("x9") = run;
	register void *in_x10 __asm__("x10") = argument;
	__asm__ volatile("svc #0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x0, x10\n\t"
			 "blr x9\n\t"
			 "brk #1\n"
			 "1:"
			 : "+r"(in_x0)
			 : "r"(in_x8), "r"(in_x1), "r"(in_x2), "r"(in_x3), "r"(in_x4), "r"(in_x9), "r"(in_x10)
			 : "memory", "cc");
	return in_x0;
}

#else
#define RAW_BIRTHS 0

static inline long raw_call(long number, long first, long second, long third, long fourth, long fifth)
{
	long result = syscall(number, first, second, third, fourth, fifth);
	return result == -1 ? -errno : result;
}
#endif

#define RAW_CALL_5(name, a, b, c, d, e, ...) raw_call(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))
/* raw(name, up to five arguments) */
#define raw(name, ...) RAW_CALL_5(name, __VA_ARGS__, 0, 0, 0, 0, 0)

#endif
