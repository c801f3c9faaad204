create or replace function loom._source_part(p_row loom.memory, p_at timestamptz) returns bit
language plpgsql immutable
as $$
begin
  if p_row.user_id = '-' or p_row.memory_type not in ('semantic', 'preference', 'decision')
    or p_row.sensitivity = 'high' or not loom._is_current(p_row, p_at) or p_row.valid_to <= p_at then
    return null;
  end if;
  if p_row.tags <> '{}' then
    perform from unnest(p_row.tags) as tag where tag in ('about:other', 'forget') or tag ^@ 'attribute:';
    if found then
      return null;
    end if;
  end if;
  -- Never the text of a time or a float, which follow the session.
  return ('x' || left(encode(sha256(convert_to(concat_ws('|', p_row.memory_id, p_row.content_sha256,
    p_row.confidence, (extract(epoch from loom._dated(p_row)) * 1000000)::bigint), 'UTF8')), 'hex'), 32))::bit(128);
end
$$;
comment on function loom._source_part(loom.memory, timestamptz) is
  'What a row adds to its user''s source digest: 16 bytes of SHA-256 over memory_id|content_sha256|confidence|µs of its date. Null for what is no source: another type, high, about someone else, of a protected attribute, a request to forget, not current, past its valid_to. Whether an older twin says the same is judged by loom._source_mark.';
