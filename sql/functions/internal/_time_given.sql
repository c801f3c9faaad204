create or replace function loom._time_given(p_request jsonb, p_field text) returns timestamptz
language plpgsql immutable parallel safe
set timezone = 'UTC'
as $$
declare
  v_text text := loom._text(p_request, p_field);
  v_parts text[] := regexp_match(v_text,
    E'^(\\d{4})-(\\d\\d)-(\\d\\d)[Tt ](\\d\\d):(\\d\\d):(\\d\\d)(\\.\\d{1,9})?(Z|z|[+-]\\d\\d:\\d\\d)$');
  v_day integer[];
  v_at timestamptz;
begin
  if v_parts is not null then
    v_day := array[v_parts[1]::integer, v_parts[2]::integer, v_parts[3]::integer];
    if v_day[1] >= 1 and v_day[2] between 1 and 12 and v_parts[4]::integer < 24
      and v_parts[5]::integer < 60 and v_parts[6]::integer < 60
      and v_day[3] between 1 and extract(day from make_date(v_day[1], v_day[2], 1) + interval '1 month -1 day')
      and (lower(v_parts[8]) = 'z' or (substr(v_parts[8], 2, 2)::integer < 16 and right(v_parts[8], 2)::integer < 60))
    then
      v_at := v_text::timestamptz;
      -- In UTC the year can be another one, which no four digits write.
      if v_at >= '0001-01-01' and v_at < '10000-01-01' then
        return v_at;
      end if;
    end if;
  end if;
  raise exception using errcode = 'LM001', message = 'The request is not valid.',
    detail = jsonb_build_object('field', p_field, 'reason', 'must be a time as in 2026-01-31T09:30:00Z')::text,
    hint = 'ISO 8601 with a zone: Z or an offset.';
end
$$;
comment on function loom._time_given(jsonb, text) is
  'A time field, where it is there: ISO 8601 with a zone. LM001 otherwise.';
