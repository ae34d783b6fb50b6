/* What a PC runs when it is switched on, instead of a BIOS: from 16 to 64 bits, the disk into memory, and vectors on.
 * It is the last page below 4 GiB, the processor starts 16 bytes before its end. The first sector of the disk says
 * how many there are; memory behind it is where the linker puts programs. */
    .set DISK, 0x1FFE00 /* where it goes: the program lies 512 bytes behind */
    .set TABLES, 0x1000

    .section .vectors, "ax"
    .code16
bits16:
    cli
    lgdtl %cs:(0xF000 + table_of_segments - bits16)
    movl %cr0, %eax
    orl $1, %eax /* protected mode */
    movl %eax, %cr0
    ljmpl $8, $bits32

    .code32
bits32:
    movw $16, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    xorl %ebx, %ebx
    movl $DISK, %edi
next_sector: /* number ebx, by the ports of the first ATA disk */
    movw $0x1F2, %dx
    movb $1, %al
    outb %al, %dx
    movl %ebx, %eax
    movl $3, %ecx
bits_of_number:
    incl %edx
    outb %al, %dx
    shrl $8, %eax
    loop bits_of_number
    incl %edx
    movb $0xE0, %al
    outb %al, %dx
    incl %edx
    movb $0x20, %al /* read */
    outb %al, %dx
not_yet:
    inb %dx, %al
    testb $8, %al
    jz not_yet
    movw $0x1F0, %dx
    movl $256, %ecx
    rep insw
    incl %ebx
    cmpl DISK, %ebx
    jb next_sector

    /* Addresses are those of memory: the first GiB, and the fourth for this page. */
    movl $TABLES, %edi
    movl %edi, %cr3
    xorl %eax, %eax
    movl $0x800, %ecx
    rep stosl
    movl $(TABLES + 0x1003), TABLES
    movl $0x00000083, TABLES + 0x1000
    movl $0xC0000083, TABLES + 0x1018
    movl $0x40620, %eax /* long addresses, SSE, and what XGETBV tells of */
    movl %eax, %cr4
    movl $0xC0000080, %ecx
    rdmsr
    orl $0x100, %eax /* 64 bits */
    wrmsr
    movl $0x80000013, %eax /* paging; no traps of the floating point unit */
    movl %eax, %cr0
    ljmpl $24, $bits64

    .code64
bits64:
    xorl %ecx, %ecx
    xgetbv
    orl $0xE7, %eax /* registers of SSE, AVX and AVX-512 */
    xsetbv
    movl $ek_stack_top, %esp
    movl $ek_reset, %eax
    call *%rax

    .balign 8
segments: /* none, code and data of 32 bits, code of 64 bits */
    .quad 0, 0x00CF9B000000FFFF, 0x00CF93000000FFFF, 0x00AF9B000000FFFF
table_of_segments:
    .word 31
    .long segments

    .org 0xFF0
    .code16
    jmp bits16
    .org 0x1000

    .section .note.GNU-stack, "", @progbits
