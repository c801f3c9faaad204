create or replace function loom._working_memory_refuse(
  p_caller loom.caller, p_block loom.working_memory, p_if_match text, p_length bigint, p_char_limit integer
) returns void
language plpgsql immutable
as $$
begin
  if p_block.read_only and not p_caller.is_admin then
    raise exception using errcode = 'LM205', message = 'The row is locked.',
      detail = jsonb_build_object('reason', 'read_only', 'until', null)::text,
      hint = 'Only an admin changes a read-only block.';
  end if;
  if p_if_match is not null and p_if_match is distinct from p_block.content_sha256 then
    raise exception using errcode = 'LM201', message = 'Another write came first.',
      detail = jsonb_build_object('current_sha256', p_block.content_sha256,
        'current_version', case when p_block.deleted_at is null then p_block.version end)::text,
      hint = 'Read the current text, apply the change to it, and send it with its hash.';
  end if;
  if p_length > p_char_limit then
    raise exception using errcode = 'LM401', message = 'The text is longer than the block''s limit.',
      detail = jsonb_build_object('value_length', p_length, 'char_limit', p_char_limit,
        'overage', p_length - p_char_limit)::text,
      hint = 'Shorten the text by the overage, or set a larger char_limit (16384 at most) in the same call.';
  end if;
end
$$;
comment on function loom._working_memory_refuse(loom.caller, loom.working_memory, text, bigint, integer) is
  'Decides a write from the locked state of its block (a row of nulls when there is none): LM205 read-only, LM201 stale hash, LM401 too long; returns when the write may go on.';
