import type { Dialect } from './dialect.js'
import { isObject } from '../wire/json.js'
import {
  isMethod,
  type Method,
  methods,
  type NotificationMethod,
  notifications,
  type Params,
} from '../messages/methods.js'
import type { ClientCapabilities, ServerCapabilities } from '../messages/capabilities.js'
import type { ElicitationMode } from '../messages/elicitation.js'
import type { CreateMessageParams } from '../messages/sampling.js'

/** What a server may ask the client of the request it works on. */
export type Question = 'sampling/createMessage' | 'elicitation/create' | 'roots/list'

/**
 * The capability that is missing for a message; undefined: it may pass. A request needs the receiver's
 * capabilities, a notification the sender's. With a dialect, methods that it does not gate pass.
 */
export function missingCapability(
  name: Method | NotificationMethod,
  capabilities: ClientCapabilities | ServerCapabilities,
  dialect?: Dialect,
): string | undefined {
  if (dialect?.ungated.includes(name as Method)) return undefined
  const { capability } = isMethod(name) ? methods[name] : notifications[name]
  return capability === undefined || hasCapability(capabilities, capability) ? undefined : capability
}

/** Keys below these are identifiers, which have dots of their own, and one slash at most. */
const byId = /^(extensions|experimental)\.([^/]+(?:\/[^/]*)?)(?:\/(.*))?$/s

/**
 * Whether `path`, such as `tools.listChanged` or `extensions.io.modelcontextprotocol/tasks`, is declared. An
 * object declares by being there, a boolean by being true. A setting of an extension stands after a second
 * slash: `extensions.io.modelcontextprotocol/skills/directoryRead`.
 */
export function hasCapability(capabilities: ClientCapabilities | ServerCapabilities, path: string): boolean {
  let value: unknown = capabilities
  const keys = path.startsWith('ex') ? byId.exec(path)?.slice(1) : undefined
  for (const key of keys?.filter((part) => part !== undefined) ?? path.split('.')) {
    value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  }
  return value === true || isObject(value)
}

/**
 * The client's capability that is missing for these params, such as `elicitation.url`; undefined: it may be
 * asked. A server must not ask without it, a client answers -32602 (2025-11-25, elicitation and sampling).
 */
export function missingForQuestion<Q extends Question>(
  dialect: Dialect,
  question: Q,
  params: Params<Q>,
  capabilities: ClientCapabilities,
): string | undefined {
  const missing = missingCapability(question, capabilities, dialect)
  if (missing !== undefined) return missing
  if (question === 'elicitation/create') {
    const { mode = 'form' } = params as Params<'elicitation/create'>
    return elicitationModes(dialect, capabilities).includes(mode) ? undefined : `elicitation.${mode}`
  }
  return question === 'sampling/createMessage'
    ? missingForSampling(dialect, params as CreateMessageParams, capabilities)
    : undefined
}

/** How this client's user can be asked; an empty capability means by form (specification: elicitation). */
export function elicitationModes(
  { lacks }: Dialect,
  capabilities: ClientCapabilities,
): readonly ElicitationMode[] {
  const lacking = lacks?.elicitation ?? []
  // a revision without urls has no modes to declare: the capability itself means a form
  const declared = lacking.includes('url') ? formOnly(capabilities) : declaredModes(capabilities)
  return declared.filter((mode) => !lacking.includes(mode))
}

/** The modes that the capability names, as 2025-11-25 reads it. */
export function declaredModes({ elicitation }: ClientCapabilities): readonly ElicitationMode[] {
  if (!isObject(elicitation)) return []
  const modes = (['form', 'url'] as const).filter((mode) => isObject(elicitation[mode]))
  return modes.length === 0 ? ['form'] : modes
}

function formOnly({ elicitation }: ClientCapabilities): readonly ElicitationMode[] {
  return isObject(elicitation) ? ['form'] : []
}

function missingForSampling(
  { lacks }: Dialect,
  { tools, toolChoice, includeContext = 'none' }: CreateMessageParams,
  capabilities: ClientCapabilities,
): string | undefined {
  const unknown: readonly string[] = lacks?.fields.samplingCapability ?? []
  const has = (part: string) => !unknown.includes(part) && hasCapability(capabilities, `sampling.${part}`)
  if ((tools !== undefined || toolChoice !== undefined) && !has('tools')) return 'sampling.tools'
  // older revisions know the contexts, and no capability for them
  const gated = includeContext !== 'none' && !unknown.includes('context')
  return gated && !has('context') ? 'sampling.context' : undefined
}
