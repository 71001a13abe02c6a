"""Objects as the bytes in which they are stored and sent; encoder and decoder are made once, for speed."""

import msgspec

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(dict).decode
