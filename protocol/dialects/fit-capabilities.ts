import { declaredModes } from './capabilities.js'
import { changeField, leaveOut } from './fit-fields.js'
import type { Lacks } from './lacks.js'
import type { ClientCapabilities, ServerCapabilities } from '../messages/capabilities.js'
import type { InitializeParams, InitializeResult } from '../messages/lifecycle.js'

/** Params of `initialize`, for the revision that is asked for. */
export function fitInitializeParams(lacks: Lacks, params: InitializeParams): InitializeParams {
  const fitted = changeField(params, 'capabilities', (capabilities) => fitClient(lacks, capabilities))
  return changeField(fitted, 'clientInfo', (info) => leaveOut(info, lacks.fields.implementation))
}

/** Result of `initialize`. */
export function fitInitializeResult(lacks: Lacks, result: InitializeResult): InitializeResult {
  const fitted = changeField(result, 'capabilities', (capabilities) => fitServer(lacks, capabilities))
  return changeField(fitted, 'serverInfo', (info) => leaveOut(info, lacks.fields.implementation))
}

/** What a server declares. */
export function fitServer(lacks: Lacks, capabilities: ServerCapabilities): ServerCapabilities {
  return leaveOut(capabilities, lacks.fields.serverCapabilities)
}

/** What a client declares: in `initialize`, or in the envelope of each request. */
export function fitClient(lacks: Lacks, capabilities: ClientCapabilities): ClientCapabilities {
  const { clientCapabilities, rootsCapability, samplingCapability } = lacks.fields
  const kept = changeField(leaveOut(capabilities, clientCapabilities), 'roots', (roots) =>
    leaveOut(roots, rootsCapability),
  )
  const fitted = changeField(kept, 'sampling', (sampling) => leaveOut(sampling, samplingCapability))
  if (lacks.elicitation.length === 0) return fitted
  // where there are no modes, the capability itself promises a form: a client with urls only must not make it
  const asks = declaredModes(fitted).some((mode) => !lacks.elicitation.includes(mode))
  if (!asks) return leaveOut(fitted, ['elicitation'])
  return changeField(fitted, 'elicitation', (elicitation) => leaveOut(elicitation, ['form', 'url']))
}
