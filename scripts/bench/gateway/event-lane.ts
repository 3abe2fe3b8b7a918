import { connect, type Socket } from 'node:net'
import { type Connection, openConnection, post } from '../peers/connection.js'
import { initialize, initialized } from '../peers/messages.js'

/**
 * A session over HTTP+SSE, the transport of 2024-11-05: answers come in a stream that stays open. One message is
 * under way at a time.
 */
export class EventLane {
  readonly #stream: Socket
  readonly #port: number
  #head = ''
  #received = ''
  #waiting: { take(data: string): void; fail(error: Error): void } | undefined

  private constructor(stream: Socket, port: number) {
    this.#stream = stream
    this.#port = port
    stream.setEncoding('latin1').on('data', (text: string) => this.#hear(text))
    stream.on('error', () => {})
    stream.on('close', () => this.#waiting?.fail(new Error('the server has ended the stream')))
  }

  /** Opens it at `/mcp`. */
  static async open(port: number): Promise<EventLane> {
    const lane = new EventLane(connect({ port, host: '127.0.0.1', noDelay: true }), port)
    const endpoint = lane.#next()
    lane.#stream.write(`GET /mcp HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/event-stream\r\n\r\n`)
    const head = ['content-type: application/json', `host: 127.0.0.1:${port}`, 'content-length: ']
    lane.#head = `POST ${await endpoint} HTTP/1.1\r\n${head.join('\r\n')}`
    const connection = await openConnection(port)
    const opened = await lane.ask(connection, initialize)
    if (!opened.includes('"protocolVersion"')) throw new Error(`initialize: ${opened}`)
    await connection.ask(post(lane.#head, initialized))
    connection.close()
    return lane
  }

  connect(): Promise<Connection> {
    return openConnection(this.#port)
  }

  /** Sends a request by a connection; its answer comes in the stream. */
  async ask(connection: Connection, body: string): Promise<string> {
    const answer = this.#next()
    const { status, body: said } = await connection.ask(post(this.#head, body))
    if (status !== 202) throw new Error(`status ${status}: ${said}`)
    return answer
  }

  #next(): Promise<string> {
    return new Promise((take, fail) => {
      this.#waiting = { take, fail }
    })
  }

  #hear(text: string): void {
    this.#received += text
    for (;;) {
      const [whole, data] = /data: (.*)\n\n/.exec(this.#received) ?? []
      if (whole === undefined || data === undefined) return
      this.#received = this.#received.slice(this.#received.indexOf(whole) + whole.length)
      // the first is an address; what the server asks or tells is no answer
      if (!data.startsWith('{') || data.includes('"result"') || data.includes('"error"'))
        this.#waiting?.take(data)
    }
  }
}
