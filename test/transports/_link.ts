import type { Message } from 'caduceus/protocol'
import {
  childSpec,
  type Clock,
  defineActor,
  Registry,
  startSupervisor,
  type Supervisor,
} from 'caduceus/runtime'
import type { ClientTransport, LinkEnd } from 'caduceus/transports'
import { linkActor, type LinkNews, type Ticket } from '../../transports/link/actor.js'
import { type Heard, heard } from '../support/heard.js'
import type { TestContext } from '../support/suite.js'

/** One thing a transport told its owner. */
export type News = {
  [Name in keyof LinkNews]: { readonly type: Name } & (LinkNews[Name] extends object
    ? LinkNews[Name]
    : object)
}[keyof LinkNews]

/** A transport in a tree of its own, with a test as its owner. */
export type LinkTree = {
  readonly news: Heard<News>
  readonly tree: Supervisor
  readonly registry: Registry
  open(link: number): void
  send(link: number, message: Message, ticket?: Ticket): void
  negotiated(link: number, revision: string): void
  close(link: number): void
  /** Resolves with the next message that is told, parsed. */
  message(): Promise<Record<string, unknown>>
  /** Resolves with how the connection ended. */
  closed(): Promise<LinkEnd>
}

/** Starts a transport's actor under a supervisor, with an owner that only notes what it is told. */
export async function startLink(
  t: TestContext,
  transport: ClientTransport,
  clock?: Clock,
): Promise<LinkTree> {
  const news = heard<News>()
  const registry = new Registry()
  const note =
    <Name extends keyof LinkNews>(type: Name) =>
    (_: object, told: LinkNews[Name]) =>
      news.add({ type, ...(told as object) } as News)
  const owner = defineActor({
    name: 'owner',
    init: () => ({}),
    cast: {
      attached: note('attached'),
      opened: note('opened'),
      message: note('message'),
      lost: note('lost'),
      trouble: note('trouble'),
      missed: note('missed'),
      closed: note('closed'),
    },
  })
  const tree = await startSupervisor({
    strategy: 'one_for_all',
    logger: false,
    registry,
    ...(clock === undefined ? {} : { clock }),
    children: [
      childSpec(owner, undefined, { name: 'owner' }),
      childSpec(linkActor, { transport, owner: 'owner' }, { name: 'transport', shutdown: 8_000 }),
    ],
  })
  t.after(() => tree[Symbol.asyncDispose]())
  const link = registry.named<typeof linkActor>('transport')
  const of = async <Type extends News['type']>(type: Type) =>
    (await news.next((one) => one.type === type)) as Extract<News, { type: Type }>
  await of('attached')
  return {
    news,
    tree,
    registry,
    open: (number) => void link.cast('open', { link: number }),
    send(number, message, ticket) {
      const text = JSON.stringify(message)
      link.cast(
        'send',
        ticket === undefined ? { link: number, text, message } : { link: number, text, message, ticket },
      )
    },
    negotiated: (number, revision) => void link.cast('negotiated', { link: number, revision }),
    close: (number) => void link.cast('close', { link: number }),
    message: async () => JSON.parse((await of('message')).text),
    closed: async () => (await of('closed')).end,
  }
}
