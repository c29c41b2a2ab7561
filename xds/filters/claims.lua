-- Makes the text claims of a bearer token, which nobody verified, dynamic metadata by
-- which routes are chosen. Nothing of a request is ever run; a token that is none, or
-- too large or too deep, has no claims.
local MAX_TOKEN, MAX_DEPTH = 8192, 32
local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
local VALUE = {}
for i = 1, #ALPHABET do VALUE[ALPHABET:byte(i)] = i - 1 end
local ESCAPES = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function decoded(text)
  if #text % 4 == 1 then error("length") end
  local out, bits, n = {}, 0, 0
  for i = 1, #text do
    local v = VALUE[text:byte(i)]
    if not v then error("character") end
    bits, n = bits * 64 + v, n + 6
    if n >= 8 then
      n = n - 8
      local b = math.floor(bits / 2 ^ n)
      out[#out + 1], bits = string.char(b), bits - b * 2 ^ n
    end
  end
  return table.concat(out)
end

local function utf8(c)
  if c < 0x80 then return string.char(c) end
  local out, first = {}, c < 0x800 and 0xC0 or c < 0x10000 and 0xE0 or 0xF0
  local more = c < 0x800 and 1 or c < 0x10000 and 2 or 3
  for i = more, 1, -1 do
    out[i + 1], c = string.char(0x80 + c % 64), math.floor(c / 64)
  end
  out[1] = string.char(first + c)
  return table.concat(out)
end

-- The length of the character at i, which has to be well formed.
local function character(s, i)
  local a, b, c, d = s:byte(i, i + 3)
  local function tail(x) return x and x >= 0x80 and x < 0xC0 end
  if a < 0x80 then return 1 end
  if a >= 0xC2 and a < 0xE0 and tail(b) then return 2 end
  if a >= 0xE0 and a < 0xF0 and tail(b) and tail(c) and not (a == 0xE0 and b < 0xA0) and not (a == 0xED and b >= 0xA0) then return 3 end
  if a >= 0xF0 and a < 0xF5 and tail(b) and tail(c) and tail(d) and not (a == 0xF0 and b < 0x90) and not (a == 0xF4 and b >= 0x90) then return 4 end
  error("encoding")
end

local function space(s, i) return s:find("[^ \t\r\n]", i) or #s + 1 end

local function unit(s, i)
  local hex = s:match("^\\u(%x%x%x%x)", i)
  return hex and tonumber(hex, 16)
end

-- The text in quotes at i, and where it ends.
local function text(s, i)
  local out = {}
  i = i + 1
  while true do
    local c = s:sub(i, i)
    if c == '"' then return table.concat(out), i + 1 end
    if c == "" or c < " " then error("text") end
    if c ~= "\\" then
      local n = character(s, i)
      out[#out + 1], i = s:sub(i, i + n - 1), i + n
    else
      local u = unit(s, i)
      local low = u and u >= 0xD800 and u < 0xDC00 and unit(s, i + 6)
      if low and low >= 0xDC00 and low < 0xE000 then
        out[#out + 1], i = utf8(0x10000 + (u - 0xD800) * 0x400 + low - 0xDC00), i + 12
      elseif u then
        if u >= 0xD800 and u < 0xE000 then u = 0xFFFD end
        out[#out + 1], i = utf8(u), i + 6
      else
        out[#out + 1] = ESCAPES[s:sub(i + 1, i + 1)] or error("escape")
        i = i + 2
      end
    end
  end
end

local function number(s, i)
  local from = i
  if s:sub(i, i) == "-" then i = i + 1 end
  local whole = s:match("^%d+", i)
  if not whole or #whole > 1 and whole:sub(1, 1) == "0" then error("value") end
  i = i + #whole
  local part = s:match("^%.%d+", i)
  if part then i = i + #part end
  local power = s:match("^[eE][-+]?%d+", i)
  if power then i = i + #power end
  return s:sub(from, i - 1), i
end

-- Skips the value at i; of one that is text it returns the text too. The members of
-- the outermost object go to claims.
local function value(s, i, depth, claims)
  if depth > MAX_DEPTH then error("depth") end
  local c = s:sub(i, i)
  if c == '"' then
    local v, at = text(s, i)
    return at, v
  end
  for _, word in ipairs({ "true", "false", "null" }) do
    if s:sub(i, i + #word - 1) == word then return i + #word end
  end
  if c ~= "{" and c ~= "[" then
    local _, at = number(s, i)
    return at
  end
  local close = c == "{" and "}" or "]"
  i = space(s, i + 1)
  if s:sub(i, i) == close then return i + 1 end
  while true do
    local key, v
    if c == "{" then
      if s:sub(i, i) ~= '"' then error("name") end
      key, i = text(s, i)
      i = space(s, i)
      if s:sub(i, i) ~= ":" then error("colon") end
      i = space(s, i + 1)
    end
    i, v = value(s, i, depth + 1)
    if claims and key then claims[key] = v end
    i = space(s, i)
    local sign = s:sub(i, i)
    if sign == close then return i + 1 end
    if sign ~= "," then error("comma") end
    i = space(s, i + 1)
  end
end

local function claimsOf(authorization)
  local payload = authorization:match("^Bearer [^.]*%.([^.]*)%.[^.]*$")
  if not payload or #authorization > MAX_TOKEN then return {} end
  local s, claims = decoded(payload), {}
  local i = space(s, 1)
  if s:sub(i, i) ~= "{" then error("object") end
  if space(s, (value(s, i, 1, claims))) <= #s then error("more") end
  return claims
end

function envoy_on_request(handle)
  local authorization = handle:headers():get("authorization")
  if not authorization then return end
  local well, claims = pcall(claimsOf, authorization)
  if not well then return end
  local metadata = handle:streamInfo():dynamicMetadata()
  for name, v in pairs(claims) do
    if not (name .. v):find("%z") then metadata:set("weft.jwt", name, v) end
  end
  handle:clearRouteCache()
end
