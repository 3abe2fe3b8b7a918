// An engine on Postgres: each method is one transaction, one after the other.
import { TransportError } from 'caduceus'
import { type Bell, type ClusterEngine, type Engine, type SavedRecord, taskMark } from 'caduceus/server'

/** A pool of connections, and one that listens: PGlite as it is, `pg` in a few lines. */
export interface Database {
  transaction<Value>(work: (connection: Connection) => Promise<Value>): Promise<Value>
  listen(channel: string, hear: (payload: string) => void): Promise<() => Promise<void>>
}

export interface Connection {
  query<Row>(text: string, values?: unknown[]): Promise<{ rows: Row[] }>
  exec(text: string): Promise<unknown>
}

type Sql = <Row = unknown>(parts: TemplateStringsArray, ...values: unknown[]) => Promise<Row[]>

const tables = `
  create or replace function ms() returns float8 language sql
    as 'select extract(epoch from clock_timestamp())::float8 * 1000';
  create table if not exists shared (one bool primary key default true, run text not null, epoch float8 not null
    default 0, news int not null default 0, secret text, secret_until float8 not null default 0);
  create table if not exists leases (node text primary key, facts text, until float8 not null);
  create table if not exists sessions (id text primary key, node text, client text, epoch float8 not null default 0,
    text text, version float8 not null default 0, is_left bool not null default false, until float8 not null);
  create table if not exists lists (list text, id text, place float8, primary key (list, id));
  create table if not exists inbox (at bigserial primary key, node text, sender text, text text, until float8);
  create table if not exists kept (key text primary key, text text, until float8);
  create table if not exists news (number int primary key, text text);
  create table if not exists logs (log text primary key, node text, until float8);
  create table if not exists streams (session text, stream text, is_closed bool, until float8,
    primary key (session, stream));
  create table if not exists entries (at bigserial primary key, session text, stream text, number float8, text text,
    foreign key (session, stream) references streams on delete cascade);`

/** What has expired is gone before anybody looks. */
const begin = `
  lock table shared;
  insert into shared (run) values (gen_random_uuid()) on conflict do nothing;
  delete from leases where until <= ms(); delete from sessions where until <= ms();
  delete from lists where place <= ms(); delete from inbox where until <= ms();
  delete from logs where until <= ms(); delete from streams where until <= ms();
  delete from kept where until <= ms();`

const keptNews = 200
const hour = 3_600_000

/** Where nodes meet in a Postgres, in a schema of their own. */
export function postgres(db: Database, prefix = 'caduceus'): ClusterEngine {
  return {
    name: 'postgres',
    settings: { lease: 2_500, keys: undefined, maxInbox: 10_000 },
    async open(ctx, { node, server }) {
      const schema = `${prefix}_${server}`.toLowerCase().replace(/\W/g, '_')
      const onHealth = new Set<(isUp: boolean) => void>()
      const onBell = new Set<(bell: Bell) => void>()
      let isUp = false
      let hasEnded = false
      let unlisten: (() => Promise<void>) | undefined

      const turn = (to: boolean): void => {
        if (isUp === to) return
        isUp = to
        for (const fn of onHealth) fn(to)
      }
      const transaction = <Value>(work: (connection: Connection) => Promise<Value>): Promise<Value> => {
        let timer: NodeJS.Timeout | undefined
        const late = new Promise<never>((_, reject) => {
          timer = setTimeout(() => reject(new Error('no answer within a second')), 1_000)
        })
        const done = db.transaction(async (connection) => {
          await connection.exec(`set local search_path to ${schema}`)
          return work(connection)
        })
        return Promise.race([done, late]).finally(() => clearTimeout(timer))
      }
      const connect = async (): Promise<void> => {
        await transaction(async (connection) => {
          await connection.exec(
            `select pg_advisory_xact_lock(1); create schema if not exists ${schema}; ${tables}`,
          )
        })
        await unlisten?.()
        unlisten = await db.listen(schema, (to) => {
          if (to === '' || to === node) for (const fn of onBell) fn(to === '' ? 'news' : 'inbox')
        })
        turn(!hasEnded)
      }
      const connectAgain = async (): Promise<void> => {
        while (!isUp && !hasEnded) {
          await new Promise((resolve) => setTimeout(resolve, 200))
          if (!hasEnded) await connect().catch(() => {})
        }
      }
      const away = (cause?: unknown): TransportError =>
        new TransportError('CLUSTER_UNAVAILABLE', 'postgres is away', { retryable: true, cause })
      const ask = async <Value>(work: (sql: Sql) => Promise<Value>): Promise<Value> => {
        if (!isUp) throw away()
        try {
          return await transaction(async (connection) => {
            await connection.exec(begin)
            return work(sqlOf(connection))
          })
        } catch (cause) {
          if (isUp) {
            turn(false)
            void connectAgain()
          }
          throw away(cause)
        }
      }

      ctx.own(() => {
        hasEnded = true
        isUp = false
        void unlisten?.().catch(() => {})
      })
      await connect().catch((cause) => {
        throw away(cause)
      })
      return {
        ...methods(ask, schema),
        get isUp() {
          return isUp
        },
        risk: undefined,
        onHealth: (fn) => listener(onHealth, fn),
        onBell: (fn) => listener(onBell, fn),
      }
    },
  }
}

function methods(
  ask: <Value>(work: (sql: Sql) => Promise<Value>) => Promise<Value>,
  channel: string,
): Omit<Engine, 'isUp' | 'risk' | 'onHealth' | 'onBell'> {
  return {
    beat: (node, lease, facts) =>
      ask(async (sql) => {
        await sql`insert into leases values (${node}, ${JSON.stringify(facts)}, ms() + ${lease})
          on conflict (node) do update set facts = excluded.facts, until = excluded.until`
        const [shared] = await sql<{
          run: string
          news: number
          now: number
        }>`select run, news, ms() as now from shared`
        const leases = await sql<{ node: string; facts: string }>`
          select node, facts from leases where facts is not null`
        const nodes = leases.map(({ node, facts }) => ({ ...JSON.parse(facts), name: node }))
        return { run: '', news: 0, now: 0, ...shared, nodes, lease }
      }),
    leave: (node) =>
      ask(async (sql) => {
        await sql`delete from leases where node = ${node}`
        await sql`update sessions set node = null, client = null, is_left = starts_with(id, ${taskMark})
          where node = ${node}`
        await sql`delete from sessions where node is null and text is null`
      }),

    claim: ({ node, lease, session, client, ttl, maxSessions, maxPerClient, mayTakeOver }) =>
      ask(async (sql) => {
        const [known] = await sql<{ owner: string; holds: boolean }>`
          select node as owner, node in (select node from leases) as holds from sessions
          where id = ${session} and node is not null`
        if (known !== undefined && known.owner !== node && (known.holds || !mayTakeOver))
          return { type: 'owned', node: known.owner }
        if (known === undefined) {
          const [all] = await sql<{ sessions: number; own: number }>`
            select count(*)::int as sessions, (count(*) filter (where client = ${client ?? null}))::int as own
            from sessions where node is not null and not starts_with(id, ${taskMark})`
          if (Number(all?.sessions) >= maxSessions) return { type: 'full', of: 'sessions' }
          if (client !== undefined && Number(all?.own) >= maxPerClient) return { type: 'full', of: 'client' }
        }
        await sql`insert into leases values (${node}, null, ms() + ${lease}) on conflict do nothing`
        const [next] = await sql<{ epoch: number }>`update shared set epoch = epoch + 1 returning epoch`
        const epoch = Number(next?.epoch)
        await sql`insert into sessions (id, node, client, epoch, until)
          values (${session}, ${node}, ${client ?? null}, ${epoch}, ms() + ${ttl})
          on conflict (id) do update set node = excluded.node, epoch = excluded.epoch, until = excluded.until,
            client = case when sessions.node is null then excluded.client else sessions.client end, is_left = false`
        return { type: 'claimed', epoch }
      }),
    reclaim: ({ node, session, client, ttl }, { epoch, mayRestore, saved }) =>
      ask(async (sql) => {
        const [known] = await sql<{ holds: boolean; epoch: number }>`
          select coalesce(node = ${node}, false) and epoch = ${epoch} as holds, epoch from sessions
          where id = ${session}`
        if (!mayRestore || known?.holds) return known?.holds === true && (await kept(sql, session, saved))
        if (known !== undefined && known.epoch >= epoch) return false
        await sql`update shared set epoch = greatest(epoch, ${epoch})`
        await sql`insert into sessions (id, node, client, epoch, until)
          values (${session}, ${node}, ${client ?? null}, ${epoch}, ms() + ${ttl})
          on conflict (id) do update set node = excluded.node, client = excluded.client, epoch = excluded.epoch`
        return kept(sql, session, saved)
      }),
    release: (node, session, epoch) =>
      ask(async (sql) => {
        await sql`update sessions set node = null, client = null
          where id = ${session} and node = ${node} and epoch <= ${epoch}`
        await sql`delete from sessions where id = ${session} and node is null and text is null`
      }),
    ownerOf: (session) =>
      ask(async (sql) => {
        const [found] = await sql<{ node: string | null }>`select node from sessions where id = ${session}`
        return found?.node ?? undefined
      }),
    load: (session) =>
      ask(async (sql) => {
        const [found] = await sql<{ text: string | null }>`select text from sessions where id = ${session}`
        return found?.text ?? undefined
      }),
    save: (node, session, epoch, saved) =>
      ask(async (sql) => (await owns(sql, node, session, epoch)) && kept(sql, session, saved)),
    delete: (node, session, epoch) =>
      ask(async (sql) => {
        if (!(await owns(sql, node, session, epoch))) return false
        await sql`delete from sessions where id = ${session}`
        await sql`delete from streams where session = ${session}`
        return true
      }),
    touch: (sessions, ttl) =>
      ask(async (sql) => {
        await sql`update sessions set until = greatest(until, ms() + ${ttl}) where id = any(${sessions}::text[])`
      }),

    orphans: (max) =>
      ask(async (sql) => {
        const found = await sql<{ id: string }>`select id from sessions where starts_with(id, ${taskMark})
          and case when node is null then is_left else node not in (select node from leases) end limit ${max}`
        return found.map(({ id }) => id)
      }),
    versions: (sessions) =>
      ask(async (sql) => {
        const found = await sql<{ id: string; version: number }>`
          select id, version from sessions where id = any(${sessions}::text[]) and text is not null`
        return sessions.map((session) => found.find(({ id }) => id === session)?.version)
      }),
    listed: (list, after, size) =>
      ask(
        (sql) => sql`select id as session, place from lists where list = ${list}
          and (place, id) > (${after?.place ?? 0}, ${after?.session ?? ''}) order by place, id limit ${size}`,
      ),

    send: (to, from, texts, max) =>
      ask(async (sql) => {
        if ((await sql`select from leases where node = ${to}`).length === 0) return 'gone'
        const waiting = await sql`select from inbox where node = ${to}`
        if (waiting.length + texts.length > max) return 'full'
        for (const text of texts)
          await sql`insert into inbox (node, sender, text, until) values (${to}, ${from}, ${text}, ms() + ${hour})`
        await sql`select pg_notify(${channel}, ${to})`
        return 'taken'
      }),
    take: (node, max) =>
      ask(async (sql) =>
        textsOf(
          await sql`with taken as (delete from inbox where at in
          (select at from inbox where node = ${node} order by at limit ${max}) returning at, text)
          select text from taken order by at`,
        ),
      ),
    takeBack: (node, from) =>
      ask(async (sql) =>
        textsOf(
          await sql`with taken as (delete from inbox where node = ${node} and sender = ${from} returning at, text)
          select text from taken order by at`,
        ),
      ),

    publish: (text) =>
      ask(async (sql) => {
        const [shared] = await sql<{ news: number }>`update shared set news = news + 1 returning news`
        const number = Number(shared?.news)
        await sql`insert into news values (${number}, ${text})`
        await sql`delete from news where number <= ${number - keptNews}`
        await sql`select pg_notify(${channel}, '')`
        return number
      }),
    news: (after) =>
      ask(async (sql) => {
        const [shared] = await sql<{ news: number }>`select news from shared`
        const last = Number(shared?.news)
        const texts = textsOf(await sql`select text from news where number > ${after} order by number`)
        return { texts, last, isGap: after > last || texts.length < last - after }
      }),

    agree: (proposal, ttl) =>
      ask(async (sql) => {
        const [shared] = await sql<{ secret: string }>`update shared set secret_until = ms() + ${ttl},
          secret = case when secret_until > ms() then secret else ${proposal} end returning secret`
        return shared?.secret ?? proposal
      }),

    value: (key) =>
      ask(async (sql) => (await sql<{ text: string }>`select text from kept where key = ${key}`)[0]?.text),
    setValue: (key, was, text, ttl) =>
      ask(async (sql) => {
        const [kept] = await sql<{ text: string }>`select text from kept where key = ${key}`
        if (kept?.text !== was) return false
        if (text === undefined) await sql`delete from kept where key = ${key}`
        else
          await sql`insert into kept values (${key}, ${text}, ms() + ${ttl})
            on conflict (key) do update set text = excluded.text, until = excluded.until`
        return true
      }),

    placeLog: (log, node, ttl) =>
      ask(async (sql) => {
        await sql`insert into logs values (${log}, ${node}, ms() + ${ttl})
          on conflict (log) do update set node = excluded.node, until = excluded.until`
      }),
    placeOfLog: (log) =>
      ask(async (sql) => (await sql<{ node: string }>`select node from logs where log = ${log}`)[0]?.node),
    append: ({ session, stream }, entries, { maxEntries, ttl }) =>
      ask(async (sql) => {
        const opened = await sql`insert into streams values (${session}, ${stream}, false, ms() + ${ttl})
          on conflict (session, stream) do update set until = excluded.until where not streams.is_closed returning 1`
        if (opened.length === 0) return false
        for (const { number, text } of entries)
          await sql`insert into entries (session, stream, number, text)
            values (${session}, ${stream}, ${number}, ${text})`
        await sql`delete from entries where session = ${session} and stream = ${stream} and at not in (select at
          from entries where session = ${session} and stream = ${stream} order by at desc limit ${maxEntries})`
        return true
      }),
    closeStream: ({ session, stream }) =>
      ask(async (sql) => {
        await sql`insert into streams values (${session}, ${stream}, true, ms() + ${hour})
          on conflict (session, stream) do update set is_closed = true`
        return sql`select number, text from entries where session = ${session} and stream = ${stream} order by at`
      }),
    dropStream: ({ session, stream }) =>
      ask(async (sql) => {
        await sql`delete from streams where session = ${session} and stream = ${stream}`
      }),
  }
}

async function owns(sql: Sql, node: string, session: string, epoch: number): Promise<boolean> {
  return (
    (await sql`select from sessions where id = ${session} and node = ${node} and epoch = ${epoch}`).length > 0
  )
}

/** Keeps a record, unless there is a newer one. */
async function kept(sql: Sql, session: string, saved: SavedRecord | undefined): Promise<true> {
  if (saved === undefined) return true
  const { text, version, ttl, list } = saved
  await sql`update sessions set until = ms() + ${ttl}, version = greatest(version, ${version}),
    text = case when ${version} >= version then ${text} else text end where id = ${session}`
  if (list !== undefined)
    await sql`insert into lists values (${list}, ${session}, ms() + ${ttl}) on conflict do nothing`
  return true
}

function sqlOf(connection: Connection): Sql {
  return async <Row>(parts: TemplateStringsArray, ...values: unknown[]) => {
    const text = parts.reduce((before, part, at) => `${before}$${at}${part}`)
    return (await connection.query<Row>(text, values)).rows
  }
}

function textsOf(rows: unknown[]): string[] {
  return (rows as { text: string }[]).map(({ text }) => text)
}

function listener<Heard>(all: Set<(heard: Heard) => void>, fn: (heard: Heard) => void): () => void {
  all.add(fn)
  return () => void all.delete(fn)
}
