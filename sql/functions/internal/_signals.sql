create or replace function loom._signals(p_request jsonb) returns jsonb
language plpgsql immutable parallel safe
as $$
declare
  v_signals jsonb := p_request -> 'signals';
  v_signal jsonb;
  v_checked jsonb := '[]';
begin
  if coalesce(jsonb_typeof(v_signals), 'null') <> 'array' or jsonb_array_length(v_signals) not between 1 and 200 then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'signals', 'reason',
        case when coalesce(v_signals, 'null') = 'null' then 'is required' else 'must be a list of 1 to 200 signals' end)::text,
      hint = 'Send more signals in several requests.';
  end if;
  for v_signal in select jsonb_array_elements(v_signals) loop
    v_signal := loom._check_fields(v_signal, '{id,kind,role,text,ts,meta}');
    perform loom._identifier(v_signal, 'id');
    perform loom._bounded_text(v_signal, 'kind', 80);
    perform loom._bounded_text(v_signal, 'role', 80);
    perform loom._text(v_signal, 'text', true);
    perform loom._bounded_text(v_signal, 'text', 20000);
    if v_signal ->> 'ts' <> '' then
      perform loom._time(v_signal, 'ts');
    end if;
    if coalesce(jsonb_typeof(v_signal -> 'meta'), 'null') not in ('object', 'null') then
      raise exception using errcode = 'LM001', message = 'The request is not valid.',
        detail = jsonb_build_object('field', 'meta', 'reason', 'must be an object')::text,
        hint = 'Correct the named field and send the request again.';
    end if;
    -- What else it says is nothing that a profile is made from, and is not kept.
    v_checked := v_checked || jsonb_build_object('id', v_signal -> 'id', 'text', v_signal -> 'text',
      'kind', coalesce(nullif(v_signal ->> 'kind', ''), 'message'), 'role', coalesce(v_signal ->> 'role', ''));
  end loop;
  return v_checked;
end
$$;
comment on function loom._signals(jsonb) is
  'The signals of a request, 1 to 200 of at most 20000 characters each, as far as a profile is made from them. LM001, LM406.';
