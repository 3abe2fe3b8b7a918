/** A fault in the library that a checker has to find: what people do wrong, as a change of the source. */
export interface Bug {
  /** Words that name it, as in `npm run sim -- --planted NAME`. */
  readonly name: string
  /** What is broken, and the promise that this breaks. */
  readonly what: string
  /** A source of the library. */
  readonly file: string
  /** Stands there once. */
  readonly find: string
  readonly replace: string
  /** The checker that finds it. */
  readonly checker: string
  /** The kind of violation. Default: any of that checker. */
  readonly kind?: string
  /** Whether it is looked for where servers are clusters. */
  readonly clusters?: boolean
  /** A seed that shows it; without one, no search has found it yet. */
  readonly seed?: number
}

/** At least one for each checker. */
export const bugs: readonly Bug[] = [
  {
    name: 'answer before save',
    what: 'A call is answered before the store has what it changed: an acknowledged change is lost.',
    file: 'server/sessions/saving.ts',
    find: '  await saveSession(session)\n  return true\n',
    replace: '  void saveSession(session).catch(() => {})\n  return true\n',
    checker: 'lists',
    seed: 9,
  },
  {
    name: 'seen before save',
    what: 'A read is answered before the store has the change that it saw: what somebody has seen is lost.',
    file: 'server/sessions/session-scope.ts',
    find: "    const value = await this.#session.self.call('read', key)\n    this.#run.saw = this.#session.changes\n",
    replace: "    const value = await this.#session.self.call('read', key)\n",
    checker: 'lists',
  },
  {
    name: 'versions begin again',
    what: 'A restored session numbers its records from 1 again: the store keeps the old one, and changes are lost.',
    file: 'server/sessions/session.ts',
    find: '    version: record.version,\n',
    replace: '    version: 0,\n',
    checker: 'lists',
    seed: 9,
  },
  {
    name: 'records of one version',
    what: 'All records of a session have one version: an older one that is saved late replaces a newer one.',
    file: 'server/sessions/session.ts',
    find: '  session.version += session.step\n',
    replace: '',
    checker: 'lists',
  },
  {
    name: 'last write wins',
    what: 'A change that began from an older value is taken: what was changed meanwhile is lost.',
    file: 'server/context/session-state.ts',
    find: 'if (current.version !== version) return current',
    replace: 'if (current.version > version && value === undefined) return current',
    checker: 'lists',
    seed: 9,
  },
  {
    name: 'one restore for all',
    what: 'Sessions that are restored at the same moment share one restore: two clients share a session.',
    file: 'server/sessions/sessions.ts',
    find: "ownerOf(peer) ?? ''} $",
    replace: "ownerOf(peer) ?? ''} ",
    checker: 'isolation',
  },
  {
    name: 'events repeated',
    what: 'A resumed stream begins with the event that the client has: it comes twice.',
    file: 'transports/http/streams/event-list.ts',
    find: '(entry.number > number ? [entry.event] : [])',
    replace: '(entry.number >= number ? [entry.event] : [])',
    checker: 'streams',
  },
  {
    name: 'event skipped',
    what: 'A resumed stream begins one event too late: the first that the client has missed never comes.',
    file: 'transports/http/streams/event-list.ts',
    find: '(entry.number > number ? [entry.event] : [])',
    replace: '(entry.number > number + 1 ? [entry.event] : [])',
    checker: 'streams',
    seed: 2,
  },
  {
    name: 'nothing kept while away',
    what: 'What is sent while the client has no connection is not kept for it: the resumed stream has a gap.',
    file: 'transports/http/streams/event-log.ts',
    find: '    if (this.#reader === null && !this.#mayWait(data)) return false\n    this.add(data)\n',
    replace: '    if (this.#reader === null) return true\n    this.add(data)\n',
    checker: 'streams',
    seed: 2,
  },
  {
    name: 'deadline lost with the connection',
    what: 'A call that goes back into the line has no deadline any more: if no answer comes, it is never settled.',
    file: 'client/calls/table.ts',
    find: '    this.takeBack(pending)\n',
    replace: '    this.takeBack(pending)\n    this.#deadlines.disarm(pending)\n',
    checker: 'settled',
    seed: 13,
  },
  {
    name: 'waiter forgotten',
    what: 'A call in flight is forgotten when its connection ends: nobody settles it, not even its deadline.',
    file: 'client/calls/calls.ts',
    find: '      if (isLost) this.#noteRepeated(job)\n      this.#putBack(pending, error)\n',
    replace: '      if (isLost) this.#table.settle(pending)\n      else this.#putBack(pending, error)\n',
    checker: 'settled',
  },
  {
    name: 'a tick forgets the next one',
    what: 'The timer of all deadlines is not set again after it has fired: later ones are never settled.',
    file: 'runtime/time/deadlines.ts',
    find: '    if (next !== Number.POSITIVE_INFINITY) this.#aim(next)\n',
    replace: '',
    checker: 'settled',
    seed: 2,
  },
  {
    name: 'sent too late',
    what: 'A request counts as sent once its response begins: callers are told that it never left, and it ran.',
    file: 'transports/http/client/link.ts',
    find: 'else this.#events.lost(call.request.id, asFarAs(call.left, error))',
    replace: 'else this.#events.lost(call.request.id, asFarAs(call.answered, error))',
    checker: 'truth',
    kind: 'ran, though told unsent',
    seed: 2,
  },
  {
    name: 'all calls repeated',
    what: 'Every call that was lost is made once more: one that changes something runs twice.',
    file: 'client/calls/repeat.ts',
    find: "return retry === 'safe' || isHarmless(job, tools)",
    replace: "return retry === 'safe' || isHarmless(job, tools) || job.tries < 2",
    checker: 'truth',
    kind: 'ran too often',
    seed: 2,
  },
  {
    name: 'takes the wrong answer',
    what: 'An answer settles the call that was sent last: a call gets the answer of another one.',
    file: 'client/calls/calls.ts',
    find: "    if ('result' in message) pending.reply.resolve(message.result)\n",
    replace:
      "    const last = [...this.#table.inFlight.values()].at(-1) ?? pending\n    this.#table.settle(last)\n    if ('result' in message) last.reply.resolve(message.result)\n",
    checker: 'isolation',
    kind: 'answer of another call',
    seed: 1,
  },
  {
    name: 'record outlives its session',
    what: 'A session that has ended keeps its record: it comes back after its end.',
    file: 'server/sessions/sessions.ts',
    find: '    await this.#end(id).catch(() => {})\n',
    replace: '',
    checker: 'owners',
    kind: 'came back after its end',
  },
  {
    name: 'read before it ended',
    what: 'A session that ends while its record is being read is brought back.',
    file: 'server/sessions/records.ts',
    find: '      for (const look of this.#looking.get(id) ?? []) look.isOver = true\n',
    replace: '',
    checker: 'owners',
    kind: 'came back after its end',
  },
  {
    name: 'gives up connecting',
    what: 'A client that has failed four times in a row tries no more: it is never ready again.',
    file: 'client/connection/client-machine.ts',
    find: "after: { backoff: { target: 'connecting', actions: 'earnFresh' } },",
    replace:
      "after: { backoff: { guard: ({ context }) => context.failures < 4, target: 'connecting', actions: 'earnFresh' } },",
    checker: 'liveness',
    seed: 1,
  },
  {
    name: 'timeouts left behind',
    what: 'The timer that waits for a response is not cleared when it comes: timers pile up.',
    file: 'transports/http/client/link.ts',
    find: '  return response.finally(() => clock.clearTimeout(timer))\n',
    replace:
      '  return response.finally(() => (timer === undefined ? clock.clearTimeout(timer) : undefined))\n',
    checker: 'leaks',
  },
  {
    name: 'waits leave their timers',
    what: 'A wait that is over keeps its timer until that is due.',
    file: 'runtime/time/wait.ts',
    find: '      if (timer !== undefined) clock.clearTimeout(timer)\n',
    replace: '',
    checker: 'leaks',
    seed: 1,
  },
  {
    name: 'one restart too many',
    what: 'A supervisor counts from the second restart: it restarts more often than its intensity.',
    file: 'runtime/supervision/restart-window.ts',
    find: 'const size = this.intensity + 1',
    replace: 'const size = this.intensity + 2',
    checker: 'supervisors',
    kind: 'restarted too often',
    seed: 16,
  },
  {
    name: 'one restart too few',
    what: 'A supervisor gives up one restart early.',
    file: 'runtime/supervision/restart-window.ts',
    find: 'const size = this.intensity + 1',
    replace: 'const size = this.intensity',
    checker: 'supervisors',
    kind: 'gave up early',
    seed: 16,
  },
  {
    name: 'progress of the dead',
    what: 'Progress of a settled call still reaches its handler: it is told after the end.',
    file: 'client/calls/table.ts',
    find: '    if (job.progressToken !== undefined) this.byToken.delete(job.progressToken)\n',
    replace: '',
    checker: 'handlers',
    kind: 'progress after the end',
    seed: 2,
  },
  {
    name: 'deaf to cancellation',
    what: 'A call that its caller gives up waits on for its answer.',
    file: 'client/calls/calls.ts',
    find: '    const pending = this.#table.all.get(job)\n    if (pending === undefined) return\n    this.#abandon',
    replace:
      '    const pending = this.#table.all.get(job)\n    if (pending === undefined || pending.id !== undefined) return\n    this.#abandon',
    checker: 'handlers',
  },
  {
    name: 'sessions of anybody',
    what: 'A session takes messages of whoever knows its id: a stranger is let in.',
    file: 'server/sessions/access.ts',
    find: 'return principal === ownerOf(peer) ? revisionProblem(peer, revision) : noSession()',
    replace: "return principal !== '' ? revisionProblem(peer, revision) : noSession()",
    checker: 'tokens',
    kind: 'let in',
    seed: 1,
  },
  {
    name: 'saved without fencing',
    what: 'A save that the engine refuses, as another node has the session, counts as done.',
    file: 'server/nodes/record-keeper.ts',
    find: '    if (await this.#noted(engine.save(node, id, claim.epoch, saved))) {\n',
    replace: '    if ((await this.#noted(engine.save(node, id, claim.epoch, saved))) || claim.epoch > 0) {\n',
    checker: 'lists',
    clusters: true,
  },
  {
    name: 'lost session kept',
    what: 'A node that was away goes on with sessions that others have taken meanwhile.',
    file: 'server/nodes/claims.ts',
    find: '        if (await engine.reclaim(request, { epoch, mayRestore, saved })) continue\n',
    replace:
      '        if ((await engine.reclaim(request, { epoch, mayRestore, saved })) || epoch > 0) continue\n',
    checker: 'owners',
    clusters: true,
    seed: 4,
  },
]
