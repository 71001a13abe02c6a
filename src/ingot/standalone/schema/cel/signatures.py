"""The functions of CEL as Kubernetes 1.32 offers them to new rules, with the types that they take and give.

One line is one way to call a function: `name(types) -> type`, with `type.name(…)` for one that is called on a value.
A and B stand for any type.
"""

OPERATORS = """
_?_:_(bool A A) -> A
!_(bool) -> bool
_&&_(bool bool) -> bool
_||_(bool bool) -> bool
_==_(A A) -> bool
_!=_(A A) -> bool
_+_(bytes bytes) -> bytes
_+_(double double) -> double
_+_(duration duration) -> duration
_+_(duration timestamp) -> timestamp
_+_(timestamp duration) -> timestamp
_+_(int int) -> int
_+_(list(A) list(A)) -> list(A)
_+_(string string) -> string
_+_(uint uint) -> uint
_-_(double double) -> double
_-_(duration duration) -> duration
_-_(int int) -> int
_-_(timestamp duration) -> timestamp
_-_(timestamp timestamp) -> duration
_-_(uint uint) -> uint
_*_(double double) -> double
_*_(int int) -> int
_*_(uint uint) -> uint
_/_(double double) -> double
_/_(int int) -> int
_/_(uint uint) -> uint
_%_(int int) -> int
_%_(uint uint) -> uint
-_(double) -> double
-_(int) -> int
_[_](list(A) int) -> A
_[_](map(A B) A) -> B
_[_](optional_type(list(A)) int) -> optional_type(A)
_[_](optional_type(map(A B)) A) -> optional_type(B)
_[?_](list(A) int) -> optional_type(A)
_[?_](optional_type(list(A)) int) -> optional_type(A)
_[?_](map(A B) A) -> optional_type(B)
_[?_](optional_type(map(A B)) A) -> optional_type(B)
@in(A list(A)) -> bool
@in(A map(A B)) -> bool
"""

STANDARD = """
size(bytes) -> int
size(list(A)) -> int
size(map(A B)) -> int
size(string) -> int
bytes.size() -> int
list(A).size() -> int
map(A B).size() -> int
string.size() -> int
type(A) -> type(A)
dyn(A) -> dyn
bool(bool) -> bool
bool(string) -> bool
bytes(bytes) -> bytes
bytes(string) -> bytes
double(double) -> double
double(int) -> double
double(string) -> double
double(uint) -> double
duration(duration) -> duration
duration(int) -> duration
duration(string) -> duration
int(int) -> int
int(double) -> int
int(duration) -> int
int(string) -> int
int(timestamp) -> int
int(uint) -> int
string(string) -> string
string(bool) -> string
string(bytes) -> string
string(double) -> string
string(duration) -> string
string(int) -> string
string(timestamp) -> string
string(uint) -> string
string(ip) -> string
string(cidr) -> string
timestamp(timestamp) -> timestamp
timestamp(int) -> timestamp
timestamp(string) -> timestamp
uint(uint) -> uint
uint(double) -> uint
uint(int) -> uint
uint(string) -> uint
string.contains(string) -> bool
string.endsWith(string) -> bool
string.startsWith(string) -> bool
matches(string string) -> bool
string.matches(string) -> bool
timestamp.getFullYear() -> int
timestamp.getFullYear(string) -> int
timestamp.getMonth() -> int
timestamp.getMonth(string) -> int
timestamp.getDayOfYear() -> int
timestamp.getDayOfYear(string) -> int
timestamp.getDayOfMonth() -> int
timestamp.getDayOfMonth(string) -> int
timestamp.getDate() -> int
timestamp.getDate(string) -> int
timestamp.getDayOfWeek() -> int
timestamp.getDayOfWeek(string) -> int
timestamp.getHours() -> int
timestamp.getHours(string) -> int
duration.getHours() -> int
timestamp.getMinutes() -> int
timestamp.getMinutes(string) -> int
duration.getMinutes() -> int
timestamp.getSeconds() -> int
timestamp.getSeconds(string) -> int
duration.getSeconds() -> int
timestamp.getMilliseconds() -> int
timestamp.getMilliseconds(string) -> int
duration.getMilliseconds() -> int
optional.of(A) -> optional_type(A)
optional.ofNonZeroValue(A) -> optional_type(A)
optional.none() -> optional_type(A)
optional_type(A).value() -> A
optional_type(A).hasValue() -> bool
optional_type(A).or(optional_type(A)) -> optional_type(A)
optional_type(A).orValue(A) -> A
"""

STRINGS = """
string.charAt(int) -> string
string.indexOf(string) -> int
string.indexOf(string int) -> int
string.lastIndexOf(string) -> int
string.lastIndexOf(string int) -> int
string.lowerAscii() -> string
string.upperAscii() -> string
string.replace(string string) -> string
string.replace(string string int) -> string
string.split(string) -> list(string)
string.split(string int) -> list(string)
string.substring(int) -> string
string.substring(int int) -> string
string.trim() -> string
string.format(list(dyn)) -> string
strings.quote(string) -> string
list(string).join() -> string
list(string).join(string) -> string
string.find(string) -> string
string.findAll(string) -> list(string)
string.findAll(string int) -> list(string)
"""

KUBERNETES = """
list(A).indexOf(A) -> int
list(A).lastIndexOf(A) -> int
sets.contains(list(A) list(A)) -> bool
sets.equivalent(list(A) list(A)) -> bool
sets.intersects(list(A) list(A)) -> bool
url(string) -> url
isURL(string) -> bool
url.getScheme() -> string
url.getHost() -> string
url.getHostname() -> string
url.getPort() -> string
url.getEscapedPath() -> string
url.getQuery() -> map(string list(string))
quantity(string) -> quantity
isQuantity(string) -> bool
sign(quantity) -> int
quantity.isGreaterThan(quantity) -> bool
quantity.isLessThan(quantity) -> bool
quantity.compareTo(quantity) -> int
quantity.asApproximateFloat() -> double
quantity.asInteger() -> int
quantity.isInteger() -> bool
quantity.add(quantity) -> quantity
quantity.add(int) -> quantity
quantity.sub(quantity) -> quantity
quantity.sub(int) -> quantity
ip(string) -> ip
isIP(string) -> bool
ip.isCanonical(string) -> bool
ip.family() -> int
ip.isUnspecified() -> bool
ip.isLoopback() -> bool
ip.isLinkLocalMulticast() -> bool
ip.isLinkLocalUnicast() -> bool
ip.isGlobalUnicast() -> bool
cidr(string) -> cidr
isCIDR(string) -> bool
cidr.containsIP(string) -> bool
cidr.containsIP(ip) -> bool
cidr.containsCIDR(string) -> bool
cidr.containsCIDR(cidr) -> bool
cidr.ip() -> ip
cidr.prefixLength() -> int
cidr.masked() -> cidr
format.named(string) -> optional_type(format)
format.validate(string) -> optional_type(list(string))
"""
