create or replace function loom._section_fits(p_row loom.memory, p_length bigint) returns void
language plpgsql immutable
as $$
begin
  if p_length > p_row.char_limit then
    raise exception using errcode = 'LM402', message = 'The value is longer than the row''s limit.',
      detail = jsonb_build_object('value_length', p_length, 'char_limit', p_row.char_limit,
        'overage', p_length - p_row.char_limit)::text,
      hint = 'Shorten the value by the overage, or set a larger char_limit in the same call.';
  end if;
end
$$;
comment on function loom._section_fits(loom.memory, bigint) is
  'LM402 when a value of so many characters of JSON would not fit: told before it is made, which could be huge.';
