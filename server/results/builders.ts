import { isObject } from '../../protocol/wire/json.js'
import type {
  BlobResourceContents,
  ContentBlock,
  ResourceLink,
  TextResourceContents,
} from '../../protocol/messages/content.js'
import type { GetPromptResult, PromptMessage } from '../../protocol/messages/prompts.js'
import type { CallToolResult } from '../../protocol/messages/tools.js'
import { messageOf, show } from '../../runtime/base/errors.js'
import { ServerError } from '../base/errors.js'
import { jsonText } from '../base/json-text.js'

/** The result of a tool, block by block. A tool may return the builder itself. */
export class ToolResultBuilder {
  readonly #content: ContentBlock[] = []
  #structured: unknown
  #isError = false

  text(value: string): this {
    return this.#add({ type: 'text', text: textOf('text', value) })
  }

  /** Adds text with the JSON of a value. Throws BAD_RESULT for a value without JSON. */
  json(value: unknown): this {
    return this.#add({ type: 'text', text: jsonOf(value) })
  }

  /** Adds an image: its bytes, or their base64. */
  image(data: Uint8Array | string, mimeType: string): this {
    return this.#add({ type: 'image', data: base64Of(data), mimeType: textOf('mimeType', mimeType) })
  }

  /**
   * Adds audio: its bytes, or their base64. Clients of 2024-11-05, which has no audio, get a text instead.
   */
  audio(data: Uint8Array | string, mimeType: string): this {
    return this.#add({ type: 'audio', data: base64Of(data), mimeType: textOf('mimeType', mimeType) })
  }

  resource(contents: TextResourceContents | BlobResourceContents): this {
    return this.#add({ type: 'resource', resource: contents })
  }

  link(resource: Omit<ResourceLink, 'type'>): this {
    return this.#add({ type: 'resource_link', ...resource })
  }

  /** Adds why the tool failed, for the model to read, and marks the result as failed. */
  error(message: string): this {
    this.#isError = true
    return this.text(message)
  }

  /**
   * Sets the structured content: an object, or since 2026-07-28 any JSON value. Without other content, its
   * JSON is added as text for models (specification: tools, structured content).
   */
  structured(value: unknown): this {
    this.#structured = value
    return this
  }

  build(): CallToolResult {
    const structured = this.#structured
    const isAlone = structured !== undefined && this.#content.length === 0
    return {
      content: isAlone ? [{ type: 'text', text: jsonOf(structured) }] : [...this.#content],
      ...(structured !== undefined && {
        structuredContent: isObject(structured) ? { ...structured } : structured,
      }),
      isError: this.#isError,
    }
  }

  #add(block: ContentBlock): this {
    this.#content.push(block)
    return this
  }
}

/** The messages of a prompt, in order. A prompt may return the builder itself. */
export class PromptResultBuilder {
  readonly #messages: PromptMessage[] = []
  #description: string | undefined

  constructor(description?: string) {
    this.#description = description
  }

  /** Sets what the prompt is for. */
  description(value: string): this {
    this.#description = textOf('description', value)
    return this
  }

  /** Adds what the user says: text, or a block of content. */
  user(content: string | PromptMessage['content']): this {
    return this.#add('user', content)
  }

  /** Adds what the assistant says. */
  assistant(content: string | PromptMessage['content']): this {
    return this.#add('assistant', content)
  }

  /**
   * Adds an instruction, as a message of the user: the protocol has no system role (specification: prompts).
   */
  system(content: string | PromptMessage['content']): this {
    return this.#add('user', content)
  }

  build(): GetPromptResult {
    const description = this.#description
    return { ...(description !== undefined && { description }), messages: [...this.#messages] }
  }

  #add(role: PromptMessage['role'], content: string | PromptMessage['content']): this {
    this.#messages.push({
      role,
      content: typeof content === 'string' ? { type: 'text', text: content } : content,
    })
    return this
  }
}

/**
 * The contents of a resource. A resource may return the builder itself. The default uri is the requested one.
 */
export class ResourceResultBuilder {
  readonly #fields: Record<string, string> = {}

  text(value: string): this {
    return this.#content('text', textOf('text', value))
  }

  /** Sets the text to the JSON of a value. Throws BAD_RESULT for a value without JSON. */
  json(value: unknown): this {
    return this.#content('text', jsonOf(value))
  }

  /** Sets the bytes: as they are, or as base64. */
  blob(data: Uint8Array | string): this {
    return this.#content('blob', base64Of(data))
  }

  uri(value: string): this {
    return this.#set('uri', value)
  }

  mimeType(value: string): this {
    return this.#set('mimeType', value)
  }

  name(value: string): this {
    return this.#set('name', value)
  }

  description(value: string): this {
    return this.#set('description', value)
  }

  /** The contents, without a uri if none was set. Throws BAD_RESULT without text and bytes. */
  build(): Omit<TextResourceContents, 'uri'> | Omit<BlobResourceContents, 'uri'> {
    const { text, blob, ...notes } = this.#fields
    if (text !== undefined) return { ...notes, text }
    if (blob !== undefined) return { ...notes, blob }
    throw new ServerError('BAD_RESULT', 'resourceResult: expected text(), json() or blob() before build()')
  }

  #content(kind: 'text' | 'blob', value: string): this {
    delete this.#fields[kind === 'text' ? 'blob' : 'text']
    this.#fields[kind] = value
    return this
  }

  #set(field: string, value: string): this {
    this.#fields[field] = textOf(field, value)
    return this
  }
}

/** Begins the result of a tool: `toolResult().text('Done').json({ items: 10 })`. */
export function toolResult(): ToolResultBuilder {
  return new ToolResultBuilder()
}

/** Begins the messages of a prompt: `promptResult('Weather').system('Be brief.').user('Will it rain?')`. */
export function promptResult(description?: string): PromptResultBuilder {
  return new PromptResultBuilder(description)
}

/** Begins the contents of a resource: `resourceResult().blob(bytes)`. */
export function resourceResult(): ResourceResultBuilder {
  return new ResourceResultBuilder()
}

export function built(returned: unknown): unknown {
  const isBuilder =
    returned instanceof ToolResultBuilder ||
    returned instanceof PromptResultBuilder ||
    returned instanceof ResourceResultBuilder
  return isBuilder ? returned.build() : returned
}

/** The JSON of a value. Throws BAD_RESULT for a value without JSON. */
export function jsonOf(value: unknown): string {
  return jsonText(value, (cause) => {
    const why = cause === undefined ? '' : `: ${messageOf(cause)}`
    return new ServerError('BAD_RESULT', `json: ${show(value)} has no JSON text${why}`, { cause })
  })
}

function textOf(field: string, value: unknown): string {
  if (typeof value === 'string') return value
  throw new ServerError('BAD_RESULT', `${field}: expected a string, got ${show(value)}`)
}

function base64Of(data: unknown): string {
  if (data instanceof Uint8Array)
    return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
  if (typeof data === 'string' && data.length % 4 === 0 && /^[A-Za-z\d+/]*={0,2}$/.test(data)) return data
  const hint = typeof data === 'string' ? ': of a file, await readFile(path)' : ''
  throw new ServerError('BAD_RESULT', `data: expected bytes or their base64, got ${show(data)}${hint}`)
}
