/** One piece of a streamed answer, as far as it is used. Servers differ: anything may be absent or null. */
export interface Chunk {
  readonly id?: string | null;
  readonly model?: string | null;
  readonly created?: number | null;
  readonly choices?: readonly { readonly delta?: Delta | null; readonly finish_reason?: string | null }[] | null;
  readonly usage?: ChunkUsage | null;
  readonly error?: unknown;
}

export interface Delta {
  readonly content?: string | readonly { readonly type?: string; readonly text?: string }[] | null;
  readonly reasoning_content?: string | null;
  readonly reasoning?: string | null;
  readonly tool_calls?: readonly CallDelta[] | null;
}

export interface CallDelta {
  readonly index?: number | null;
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: string | null } | null;
  /** Where Gemini's servers keep what must be sent back with the call. */
  readonly extra_content?: { readonly google?: { readonly thought_signature?: string | null } | null } | null;
}

export interface ChunkUsage {
  readonly prompt_tokens?: number | null;
  readonly completion_tokens?: number | null;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number | null } | null;
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number | null } | null;
}
