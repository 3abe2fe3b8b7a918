/** What is known of a tool when a program is compiled. */
export interface ToolTypes {
  /** The arguments that a caller gives. */
  readonly input: unknown
  /** Its structured content; undefined where the tool has no `output`. */
  readonly output: unknown
}

/** What is known of a server when a program is compiled: its tools by name. */
export interface ServerTypes {
  readonly tools: Readonly<Record<string, ToolTypes>>
}

/** The types that a definition has with it, or that somebody has written. */
export type TypesOf<Served> = Served extends { readonly types?: infer Types }
  ? NonNullable<Types> extends ServerTypes
    ? NonNullable<Types>
    : ServerTypes
  : Served extends ServerTypes
    ? Served
    : ServerTypes
