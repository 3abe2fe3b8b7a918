import { redisScript } from '../../transports/redis/script.js'

/*
 * KEYS[1] is what all keys begin with, as far as their hash tag: they are on one server. `now` is in ms, by the
 * clock of that server. What each key holds is on the page of this room.
 */

const time = `
local base = KEYS[1]
local seconds = redis.call('TIME')
local now = seconds[1] * 1000 + math.floor(seconds[2] / 1000)
`

/** `HGET nodes NODE` is "until lease facts". */
const leases = `
local function holds(node)
  local lease = redis.call('HGET', base .. 'nodes', node)
  return lease and tonumber(string.match(lease, '^%d+')) > now
end
`

const ends = `
local function extend(key, ms)
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, ms) end
end
`

/** Where a node's sessions are, or its tasks; those that nobody works on are at ''. */
const owned = `
local function isTask(id) return string.sub(id, 1, 5) == 'task\\n' end
local function owned(id, node) return base .. (isTask(id) and 'w:' or 'o:') .. node end
`

/** `known` is what HMGET s:ID o e c answers. */
const owning = `${owned}
local function own(id, known, node, epoch, client, ttl)
  if known[1] ~= node then redis.call('ZREM', owned(id, known[1] or ''), id) end
  if known[3] and known[3] ~= client then
    redis.call('ZREM', base .. 'c:' .. known[3], id)
    redis.call('HDEL', base .. 's:' .. id, 'c')
  end
  redis.call('HSET', base .. 's:' .. id, 'o', node, 'e', epoch)
  if client ~= '' then
    redis.call('HSET', base .. 's:' .. id, 'c', client)
    redis.call('ZADD', base .. 'c:' .. client, now + ttl, id)
    extend(base .. 'c:' .. client, ttl)
  end
  redis.call('HSETNX', base .. 'nodes', node, '0 0 ')
  extend(base .. 'nodes', ttl)
  redis.call('ZADD', owned(id, node), now + ttl, id)
  extend(owned(id, node), ttl)
  redis.call('PEXPIRE', base .. 's:' .. id, ttl)
  redis.call('PEXPIRE', base .. 'r:' .. id, ttl)
end
`

const freeing = `${owned}
local function free(id, node, client)
  redis.call('ZREM', owned(id, node), id)
  if client then redis.call('ZREM', base .. 'c:' .. client, id) end
  if redis.call('EXISTS', base .. 'r:' .. id) == 1 then redis.call('HDEL', base .. 's:' .. id, 'o', 'c')
  else redis.call('DEL', base .. 's:' .. id) end
end
`

const counting = `
local function count(key)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
  return redis.call('ZCARD', key)
end
`

const counter = `
local function raise(epoch, keep)
  redis.call('SET', base .. 'epoch', string.format('%.0f', epoch), 'PX', keep)
end
`

/** Where the entries of a stream are, and the mark that it is closed. */
const streams = `
local function placeOf(stream)
  return base .. 'e:' .. #id .. ':' .. id .. ':' .. stream, base .. 'x:' .. #id .. ':' .. id .. ':' .. stream
end
`

export const beat = redisScript(`${time}${counting}
local node, lease, facts, keep, fresh = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local heard = base .. 'bell:'
redis.call('HSET', base .. 'nodes', node, string.format('%.0f %.0f ', now + lease, lease) .. facts)
local all = redis.call('HGETALL', base .. 'nodes')
local channels = {}
for at = 1, #all, 2 do channels[#channels + 1] = heard .. all[at] end
local listeners = redis.call('PUBSUB', 'NUMSUB', unpack(channels))
local nodes, granted = {}, lease
for at = 1, #all, 2 do
  local ends, length, says = string.match(all[at + 1], '^(%d+) (%d+) (.*)$')
  ends = tonumber(ends)
  -- the clock of the server may have been set back
  local longest = now + tonumber(length)
  if tonumber(listeners[at + 1]) == 0 then longest = math.min(longest, now + 1000) end
  if ends > longest then
    ends = longest
    redis.call('HSET', base .. 'nodes', all[at], string.format('%.0f ', ends) .. length .. ' ' .. says)
  end
  if all[at] == node then granted = ends - now end
  if ends > now then
    nodes[#nodes + 1] = all[at]
    nodes[#nodes + 1] = says
  elseif ends < now - 60000 and count(base .. 'o:' .. all[at]) + count(base .. 'w:' .. all[at]) == 0 then
    redis.call('HDEL', base .. 'nodes', all[at])
  end
end
local seed = redis.call('GET', base .. 'run')
if not seed then
  seed = fresh
  redis.call('SET', base .. 'run', seed)
end
for _, key in ipairs({ 'nodes', 'run', 'epoch', 'news', 'last' }) do
  if redis.call('PTTL', base .. key) < tonumber(keep) then redis.call('PEXPIRE', base .. key, keep) end
end
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local line = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
return { run .. '.' .. line .. '.' .. seed, tonumber(redis.call('GET', base .. 'last') or 0), nodes, granted, now }
`)

/** Where what is found by a list is. */
const listing = `
local function enlist(list, id, ttl)
  if not list or list == '' then return end
  redis.call('ZADD', base .. 'k:' .. list, 'NX', now + ttl, id)
  extend(base .. 'k:' .. list, ttl)
end
`

/** Lets go of some sessions and tasks of a node; 0 once it has none, and is gone. */
export const leave = redisScript(`${time}${ends}${freeing}
local node, most = ARGV[1], tonumber(ARGV[2])
local sessions = redis.call('ZRANGE', base .. 'o:' .. node, 0, most - 1)
for _, id in ipairs(sessions) do
  local known = redis.call('HMGET', base .. 's:' .. id, 'o', 'c')
  if known[1] == node then free(id, node, known[2]) else redis.call('ZREM', base .. 'o:' .. node, id) end
end
local tasks = redis.call('ZRANGE', base .. 'w:' .. node, 0, most - 1, 'WITHSCORES')
for at = 1, #tasks, 2 do
  local id, ends = tasks[at], tonumber(tasks[at + 1])
  if redis.call('HGET', base .. 's:' .. id, 'o') == node then
    free(id, node)
    if redis.call('EXISTS', base .. 'r:' .. id) == 1 then
      redis.call('ZADD', base .. 'w:', ends, id)
      extend(base .. 'w:', math.max(1, ends - now))
    end
  else redis.call('ZREM', base .. 'w:' .. node, id) end
end
if #sessions == most or #tasks == most * 2 then return 1 end
redis.call('HDEL', base .. 'nodes', node)
return 0
`)

export const claim = redisScript(`${time}${leases}${ends}${owning}${counting}${counter}
local node, id, client, ttl = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local maxSessions, maxPerClient, mayTakeOver, keep = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7], ARGV[8]
local lease = tonumber(ARGV[9])
local known = redis.call('HMGET', base .. 's:' .. id, 'o', 'e', 'c')
local owner = known[1]
if owner and owner ~= node and (mayTakeOver == '0' or holds(owner)) then return { 'owned', owner } end
if owner then client = known[3] or ''
else
  local sessions = 0
  for _, name in ipairs(redis.call('HKEYS', base .. 'nodes')) do sessions = sessions + count(base .. 'o:' .. name) end
  if sessions >= maxSessions then return { 'full', 'sessions' } end
  if client ~= '' and count(base .. 'c:' .. client) >= maxPerClient then return { 'full', 'client' } end
end
local epoch = math.max(tonumber(redis.call('GET', base .. 'epoch') or 0), tonumber(known[2] or 0)) + 1
raise(epoch, keep)
if not holds(node) then
  local says = string.match(redis.call('HGET', base .. 'nodes', node) or '', '^%d+ %d+ (.*)$') or ''
  redis.call('HSET', base .. 'nodes', node, string.format('%.0f %s ', now + lease, ARGV[9]) .. says)
end
own(id, known, node, string.format('%.0f', epoch), client, ttl)
return { 'claimed', epoch }
`)

/** ARGV[8] and on are the version, the text and the list of a record, if there is one. */
export const reclaim = redisScript(`${time}${ends}${owning}${counter}${listing}
local node, id, client, ttl, epoch, mayRestore = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6]
local keep, version, text, list = ARGV[7], ARGV[8], ARGV[9], ARGV[10]
local known = redis.call('HMGET', base .. 's:' .. id, 'o', 'e', 'c', 'v')
local holds = known[1] == node and known[2] == epoch
if mayRestore == '0' then return holds and 1 or 0 end
if not holds and known[2] and tonumber(known[2]) >= tonumber(epoch) then return 0 end
raise(math.max(tonumber(redis.call('GET', base .. 'epoch') or 0), tonumber(epoch)), keep)
if version and tonumber(version) >= tonumber(known[4] or 0) then
  redis.call('HSET', base .. 's:' .. id, 'v', version)
  redis.call('SET', base .. 'r:' .. id, text, 'PX', ttl)
end
own(id, known, node, epoch, client, ttl)
enlist(list, id, ttl)
return 1
`)

export const release = redisScript(`local base = KEYS[1]${freeing}
local node, id, epoch = ARGV[1], ARGV[2], tonumber(ARGV[3])
local known = redis.call('HMGET', base .. 's:' .. id, 'o', 'e', 'c')
if known[1] == node and tonumber(known[2]) <= epoch then free(id, node, known[3]) end
`)

/** ARGV[7] is the list that it is found by, if there is one. */
export const save = redisScript(`${time}${ends}${owned}${listing}
local node, id, epoch, text, version, ttl = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local known = redis.call('HMGET', base .. 's:' .. id, 'o', 'e', 'c', 'v')
if known[1] ~= node or known[2] ~= epoch then return 0 end
if tonumber(version) >= tonumber(known[4] or 0) then
  redis.call('HSET', base .. 's:' .. id, 'v', version)
  redis.call('SET', base .. 'r:' .. id, text)
end
redis.call('PEXPIRE', base .. 'r:' .. id, ttl)
redis.call('PEXPIRE', base .. 's:' .. id, ttl)
redis.call('ZADD', owned(id, node), now + ttl, id)
extend(owned(id, node), ttl)
enlist(ARGV[7], id, ttl)
if known[3] then
  redis.call('ZADD', base .. 'c:' .. known[3], now + ttl, id)
  extend(base .. 'c:' .. known[3], ttl)
end
return 1
`)

export const forget =
  redisScript(`local base, node, id, epoch = KEYS[1], ARGV[1], ARGV[2], ARGV[3]${streams}${owned}
local known = redis.call('HMGET', base .. 's:' .. id, 'o', 'e', 'c')
if known[1] ~= node or known[2] ~= epoch then return 0 end
for _, stream in ipairs(redis.call('SMEMBERS', base .. 't:' .. id)) do redis.call('UNLINK', placeOf(stream)) end
redis.call('UNLINK', base .. 's:' .. id, base .. 'r:' .. id, base .. 't:' .. id)
redis.call('ZREM', owned(id, node), id)
if known[3] then redis.call('ZREM', base .. 'c:' .. known[3], id) end
return 1
`)

export const touch = redisScript(`${time}${ends}${owned}
local ttl = tonumber(ARGV[1])
for at = 2, #ARGV do
  local id = ARGV[at]
  local known = redis.call('HMGET', base .. 's:' .. id, 'o', 'c')
  extend(base .. 's:' .. id, ttl)
  extend(base .. 'r:' .. id, ttl)
  if known[1] then
    redis.call('ZADD', owned(id, known[1]), 'XX', 'GT', now + ttl, id)
    extend(owned(id, known[1]), ttl)
  end
  if known[2] then
    redis.call('ZADD', base .. 'c:' .. known[2], 'XX', 'GT', now + ttl, id)
    extend(base .. 'c:' .. known[2], ttl)
  end
end
`)

/** A node that has lost its lease stays among the nodes for as long as it has tasks. */
export const orphans = redisScript(`${time}${leases}${counting}
local most, found = tonumber(ARGV[1]), {}
local function look(node)
  local key = base .. 'w:' .. node
  if #found == most or count(key) == 0 then return end
  for _, id in ipairs(redis.call('ZRANGE', key, 0, most - #found - 1)) do found[#found + 1] = id end
end
look('')
for _, node in ipairs(redis.call('HKEYS', base .. 'nodes')) do
  if not holds(node) then look(node) end
end
return found
`)

export const versions = redisScript(`local base, found = KEYS[1], {}
for at, id in ipairs(ARGV) do found[at] = redis.call('HGET', base .. 's:' .. id, 'v') or '' end
return found
`)

export const listed = redisScript(`${time}
local key, id, place, size = base .. 'k:' .. ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
local rank = redis.call('ZRANK', key, id)
local first = rank and rank + 1 or redis.call('ZCOUNT', key, '-inf', '(' .. place)
return redis.call('ZRANGE', key, first, first + size - 1, 'WITHSCORES')
`)

export const send = redisScript(`${time}${leases}
local node, max, keep = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local inbox = base .. 'i:' .. node
if not holds(node) then return 'gone' end
if redis.call('LLEN', inbox) + #ARGV - 3 > max then return 'full' end
for at = 4, #ARGV, 1000 do redis.call('RPUSH', inbox, unpack(ARGV, at, math.min(at + 999, #ARGV))) end
redis.call('PEXPIRE', inbox, keep)
redis.call('PUBLISH', base .. 'bell:' .. node, '')
return 'taken'
`)

export const takeBack = redisScript(`
local inbox, mark, keep = KEYS[1] .. 'i:' .. ARGV[1], ARGV[2], ARGV[3]
local waiting = redis.call('LRANGE', inbox, 0, -1)
local back, stay = {}, {}
for _, text in ipairs(waiting) do
  local list = string.sub(text, 1, #mark) == mark and back or stay
  list[#list + 1] = text
end
if #back == 0 then return back end
redis.call('DEL', inbox)
for at = 1, #stay, 1000 do redis.call('RPUSH', inbox, unpack(stay, at, math.min(at + 999, #stay))) end
if #stay > 0 then redis.call('PEXPIRE', inbox, keep) end
return back
`)

export const agree = redisScript(`local key, proposal, keep = KEYS[1] .. 'secret', ARGV[1], ARGV[2]
local agreed = redis.call('GET', key) or proposal
redis.call('SET', key, agreed, 'PX', keep)
return agreed
`)

/** No text that is kept is empty: that stands for none. */
export const setValue =
  redisScript(`local key, was, text, keep = KEYS[1] .. 'v:' .. ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if (redis.call('GET', key) or '') ~= was then return 0 end
if text == '' then redis.call('DEL', key) else redis.call('SET', key, text, 'PX', keep) end
return 1
`)

export const publish =
  redisScript(`local base, text, most, keep = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]
local number = redis.call('INCR', base .. 'last')
redis.call('RPUSH', base .. 'news', text)
redis.call('LTRIM', base .. 'news', -most, -1)
redis.call('PEXPIRE', base .. 'last', keep)
redis.call('PEXPIRE', base .. 'news', keep)
redis.call('PUBLISH', base .. 'bell', '')
return number
`)

export const news = redisScript(`local base, after = KEYS[1], tonumber(ARGV[1])
local last = tonumber(redis.call('GET', base .. 'last') or 0)
local missed = last - after
local isGap = (missed < 0 or missed > redis.call('LLEN', base .. 'news')) and 1 or 0
local texts = {}
if missed > 0 then texts = redis.call('LRANGE', base .. 'news', -missed, -1) end
return { last, isGap, texts }
`)

const stream = `local base, id, stream = KEYS[1], ARGV[1], ARGV[2]${ends}${streams}
local entries, closed = placeOf(stream)
`

export const append = redisScript(`${stream}
local most, ttl = tonumber(ARGV[3]), tonumber(ARGV[4])
if redis.call('EXISTS', closed) == 1 then return 0 end
for at = 5, #ARGV, 1000 do redis.call('RPUSH', entries, unpack(ARGV, at, math.min(at + 999, #ARGV))) end
redis.call('LTRIM', entries, -most, -1)
redis.call('PEXPIRE', entries, ttl)
redis.call('SADD', base .. 't:' .. id, stream)
extend(base .. 't:' .. id, ttl)
return 1
`)

export const closeStream = redisScript(`${stream}
local keep = tonumber(ARGV[3])
redis.call('SET', closed, '', 'PX', math.max(keep, redis.call('PTTL', entries)))
redis.call('SADD', base .. 't:' .. id, stream)
extend(base .. 't:' .. id, keep)
return redis.call('LRANGE', entries, 0, -1)
`)

export const dropStream = redisScript(`${stream}
redis.call('UNLINK', entries, closed)
redis.call('SREM', base .. 't:' .. id, stream)
`)

/** Each is loaded when a connection begins. */
export const scripts = Object.freeze([
  ...[beat, leave, claim, reclaim, release, save, forget, touch, orphans, versions, listed],
  ...[send, takeBack, publish, news, agree, setValue, append, closeStream, dropStream],
])
