// A text in the fragment of an address: compressed, and seen by no server.
const most = 6000 // characters; browsers and chats cut longer addresses

export const longest = 1 << 22 // bytes of a text; what somebody sends may be a bomb

async function through(bytes: BlobPart, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader()
  const parts: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer())
    parts.push(value as Uint8Array<ArrayBuffer>)
    if ((size += value.length) > longest) {
      await reader.cancel()
      throw new Error('the text is too long')
    }
  }
}

// pack is undefined where the text is too long for an address.
export async function pack(text: string): Promise<string | undefined> {
  if (text.length > longest) return undefined
  const bytes = await through(text, new CompressionStream('deflate-raw'))
  if (bytes.length > most) return undefined
  const base64 = btoa(String.fromCharCode(...bytes))
  return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

export async function unpack(packed: string): Promise<string> {
  if (!/^[\w-]+$/.test(packed)) throw new Error('these are no characters of a text')
  const bytes = Uint8Array.from(atob(packed.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
  return new TextDecoder().decode(await through(bytes, new DecompressionStream('deflate-raw')))
}
