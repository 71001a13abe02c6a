"""The smallest guest: a boot sector that goes the way of every kernel, from real mode to 64 bits, and ends QEMU.

Some KVMs run real mode and fail at the first interrupt in protected mode: this takes one there.
"""

# What it writes to QEMU's isa-debug-exit device at port 0xf4, and QEMU's exit code then.
_SAID = 0x21
REACHED = 2 * _SAID + 1

# 16 bits, at 0x7c00. Page tables and interrupt table are zeroed, the first 2 MiB are mapped to themselves.
_REAL_MODE = """
fa 31c0 8ed8 8ec0 8ed0 bc007c fc      cli; ds = es = ss = 0; sp = 0x7c00; cld
bf0010 b90020 f3ab                    0x4000 bytes of zeros at 0x1000
c70600100320 c70600200330             [0x1000] = 0x2003; [0x2000] = 0x3003
c70600308300                          [0x3000] = 0x0083
0f0116b87c                            lgdt [0x7cb8]
0f20c0 0c01 0f22c0 ea397c0800         cr0 |= 1; jump 8:0x7c39
"""
# 32 bits, at 0x7c39. Interrupt 0x40 comes back from the `iret` at 0x7c8e.
_PROTECTED_MODE = """
66b81000 8ed8 8ec0 8ed0               ds = es = ss = 0x10
c705004200008e7c0800                  [0x4200] = 0x00087c8e
c70504420000008e0000                  [0x4204] = 0x00008e00
0f011dbe7c0000 cd40                   lidt [0x7cbe]; int 0x40
0f20e0 0c20 0f22e0                    cr4 |= 0x20
b800100000 0f22d8                     cr3 = 0x1000
b9800000c0 0f32 80cc01 0f30           EFER |= 0x100
0f20c0 0d00000080 0f22c0              cr0 |= 0x80000000
ea8f7c00001800 cf                     jump 0x18:0x7c8f; iret
"""
# 64 bits, at 0x7c8f.
_LONG_MODE = f"""
b0{_SAID:02x} e6f4 f4 ebfd 6690               al = {_SAID}; out 0xf4, al; hlt; jump to hlt; padding
"""
# At 0x7c98: nothing, code of 32 bits, data, code of 64 bits; then what lgdt and lidt load.
_TABLES = """
0000000000000000 ffff0000009acf00     segments 0 and 8
ffff00000092cf00 ffff0000009aaf00     segments 0x10 and 0x18
1f00987c0000 ff0700400000             31, 0x7c98; 0x7ff, 0x4000
"""


def boot_sector() -> bytes:
    """The 512 bytes."""
    listing = _REAL_MODE + _PROTECTED_MODE + _LONG_MODE + _TABLES
    # The machine's words come first in a line, two spaces and what they mean after them.
    code = bytes.fromhex("".join(line.partition("  ")[0] for line in listing.splitlines()))
    return code.ljust(510, b"\0") + b"\x55\xaa"
